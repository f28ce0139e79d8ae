//! Stub of libcudnn.

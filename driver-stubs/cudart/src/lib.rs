//! Stub of libcudart.

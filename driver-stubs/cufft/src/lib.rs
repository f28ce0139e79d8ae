//! Stub of libcufft.

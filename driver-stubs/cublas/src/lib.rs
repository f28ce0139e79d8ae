//! Stub of libcublas.

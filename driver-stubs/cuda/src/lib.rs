//! Stub of libcuda.

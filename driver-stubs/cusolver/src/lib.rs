//! Stub of libcusolver.

//! Stub of libcufile.

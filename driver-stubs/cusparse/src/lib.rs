//! Stub of libcusparse.

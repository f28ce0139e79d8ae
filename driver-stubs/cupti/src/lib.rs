//! Stub of libcupti.

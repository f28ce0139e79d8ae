//! Stub of libcublaslt.

//! Stub of libcusparselt.

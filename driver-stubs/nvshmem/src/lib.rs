//! Stub of libnvshmem.

//! Stub of libnccl.

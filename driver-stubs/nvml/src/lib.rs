//! Stub of libnvml.

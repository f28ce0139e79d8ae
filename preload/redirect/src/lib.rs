//! The LD_AUDIT redirection.

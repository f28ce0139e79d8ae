//! How an exported C function is declared.

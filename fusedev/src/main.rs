//! ghostd.
fn main() {}

//! Build, check and bench tasks.
fn main() {}

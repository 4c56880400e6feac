//! Opens the window, or runs a command without one.
fn main() {}

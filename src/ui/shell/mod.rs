//! The window's frame.

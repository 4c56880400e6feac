//! Words of the section `shell`.

words! {
    /// Window frame.
    ShellText {
        title,
    }
}

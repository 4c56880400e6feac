//! Words of the section `cli`.

words! {
    /// Command line.
    CliText {
        title,
    }
}

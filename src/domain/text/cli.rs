//! Words of the section `cli`.

words! {
    /// Command line.
    CliText {
        title,
        verify_missing,
        verify_total,
    }
}

//! Words of the section `load`.

words! {
    /// Step 5.
    LoadText {
        title,
    }
}

//! Words of the section `memory`.

words! {
    /// Step 2.
    MemoryText {
        title,
    }
}

//! Words of the section `acceptance`.

words! {
    /// Step 8.
    AcceptanceText {
        title,
    }
}

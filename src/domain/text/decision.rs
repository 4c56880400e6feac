//! Words of the section `decision`.

words! {
    /// Step 9.
    DecisionText {
        title,
    }
}

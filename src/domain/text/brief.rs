//! Words of the section `brief`.

words! {
    /// Step 1.
    BriefText {
        title,
    }
}

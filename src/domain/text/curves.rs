//! Words of the section `curves`.

words! {
    /// Step 6.
    CurvesText {
        title,
    }
}

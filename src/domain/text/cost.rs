//! Words of the section `cost`.

words! {
    /// Step 7.
    CostText {
        title,
    }
}

//! Words of the section `candidates`.

words! {
    /// Step 3.
    CandidatesText {
        title,
    }
}

//! Words of the section `common`.

words! {
    /// Words used in many places.
    CommonText {
        title,
    }
}

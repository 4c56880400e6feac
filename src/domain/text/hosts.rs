//! Words of the section `hosts`.

words! {
    /// Step 4.
    HostsText {
        title,
    }
}

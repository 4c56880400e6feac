//! Words of the section `cli`.

words! {
    /// Command line.
    CliText {
        title,
        check_demonstration,
        check_no_criteria,
        check_nobody_named,
        check_waived,
        probe_head,
        verify_missing,
        verify_total,
    }
}

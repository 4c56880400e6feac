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
        stray,
        unsealed,
        took_up,
        probe_of_nobody,
        load_only_candidate,
        verify_total,
        practice_address,
        load_total,
        load_rates,
        load_client,
        load_gap_not_measurable,
        load_refused_options,
        load_invalid,
    }
}

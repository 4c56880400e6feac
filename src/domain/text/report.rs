//! Words of the section `report`.

words! {
    /// Reports.
    ReportText {
        title,
    }
}

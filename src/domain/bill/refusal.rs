//! Why a file is not read as a bill at all.

/// Why nothing was read. Everything less than this is a finding beside the totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The file holds nothing.
    Empty,
    /// The file is no text: what it looks like.
    Binary(Binary),
    /// The first row holds values where names of columns belong: its text.
    NoHeader(String),
    /// A row is longer than is read: the line it starts on.
    RowTooLong(u64),
    /// More columns than are read: how many there are.
    TooManyColumns(usize),
    /// The JSON breaks off or is none: line and what was expected.
    Json(u64, JsonFault),
    /// A column that was asked for is not in the file: its name, and the names that are.
    ColumnUnknown(String, Vec<String>),
    /// No column is known to hold amounts: the names of the columns.
    NoAmounts(Vec<String>),
    /// The file could not be read to its end: the system's own words.
    Reading(String),
}

/// What a file without text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// A gzip archive.
    Gzip,
    /// A ZIP archive; a workbook of a spreadsheet program is one.
    Zip,
    /// A Parquet table.
    Parquet,
    /// A PDF.
    Pdf,
    /// Another archive or picture.
    Other,
}

impl Binary {
    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gzip => "bill_gzip",
            Self::Zip => "bill_zip",
            Self::Parquet => "bill_parquet",
            Self::Pdf => "bill_pdf",
            Self::Other => "bill_binary",
        }
    }
}

/// What is wrong with a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFault {
    /// It ends in the middle.
    CutOff,
    /// Something else stands where a value, a name or a mark belongs.
    Unexpected,
    /// Values lie deeper in each other than is read.
    TooDeep,
    /// It holds no records.
    NoRecords,
}

impl JsonFault {
    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::CutOff => "json_cut_off",
            Self::Unexpected => "json_unexpected",
            Self::TooDeep => "json_too_deep",
            Self::NoRecords => "json_no_records",
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::Reading(error.to_string())
    }
}

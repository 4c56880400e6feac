//! An error as a typed value: what was tried, what happened, what to do, where. Shown through `Text::failure`.

use serde::{Deserialize, Serialize};

/// What went wrong, with everything its words need. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which kind of thing went wrong; has its words in both languages (`failures` in the text files).
    pub kind: FailureKind,
    /// Values for the placeholders of the words ("cause" is the text of the underlying error).
    pub values: Vec<(&'static str, String)>,
    /// The host, path or address it happened at; the last line when shown.
    pub at: Option<String>,
    /// The raw text behind it, one click away.
    pub raw: Option<String>,
}

impl Failure {
    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: FailureKind) -> Self {
        Self { kind, values: Vec::new(), at: None, raw: None }
    }

    /// The same failure with one more value for its words.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.values.push((name, value.to_string()));
        self
    }

    /// The same failure with the text of the error below it.
    #[must_use]
    pub fn because(self, cause: impl ToString) -> Self {
        self.with("cause", cause)
    }

    /// The same failure with its place.
    #[must_use]
    pub fn at(mut self, place: impl ToString) -> Self {
        self.at = Some(place.to_string());
        self
    }

    /// The same failure with the raw text behind it.
    #[must_use]
    pub fn raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = Some(raw.into());
        self
    }
}

/// Kinds of failure. Each has `what` (tried and happened) and `hint` in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    // Project files.
    /// `project.ron` could not be read from disk.
    ProjectUnreadable,
    /// `project.ron` is not valid: `line`, `column`, `cause`.
    ProjectMalformed,
    /// `project.ron` is not UTF-8: `byte` and `line`, counted from 1.
    ProjectNotUtf8,
    /// The file was written by a newer version: `found`, `known`.
    ProjectNewer,
    /// Another window holds the project: `holder`.
    ProjectLocked,
    /// The folder cannot be written, so the project is only shown.
    ProjectReadOnly,
    /// The folder chosen for saving holds another project.
    ProjectExists,
    /// No candidate of the project has this name: `name`, `known`.
    CandidateUnknown,
    /// The project has several candidates and none was named: `known`.
    CandidateNeeded,
    /// The folder holds no project.
    NotAProject,
    /// Saving failed; the last good file stands.
    SaveFailed,
    /// Evidence could not be written.
    EvidenceUnwritable,
    /// An evidence file does not match its id.
    EvidenceAltered,
    /// A file the user named could not be read.
    FileUnreadable,
    /// A file the user named could not be written.
    FileUnwritable,
    /// The desktop has no file dialog.
    NoFileDialog,
    // SSH.
    /// The address could not be reached.
    HostUnreachable,
    /// The name is not acceptable as an SSH host.
    HostNameRefused,
    /// `ssh -G` could not be run or answered nonsense.
    SshConfigUnreadable,
    /// The key exchange failed.
    HandshakeFailed,
    /// The host key differs from the known one: `known`, `found`.
    HostKeyChanged,
    /// The host key is revoked in known_hosts.
    HostKeyRevoked,
    /// The host key is unknown and nobody accepted it: `found`.
    HostKeyUnknown,
    /// No offered login was accepted: `tried`.
    LoginRefused,
    /// The key file needs a passphrase, or the passphrase is wrong.
    PassphraseNeeded,
    /// No SSH agent.
    NoAgent,
    /// The connection broke in the middle.
    ConnectionLost,
    /// The server refused to run the command or open the channel.
    CommandRefused,
    /// A command ran past its deadline: `secs`.
    DeadlinePassed,
    /// A command sent more than its cap: `cap`.
    TooMuchOutput,
    /// This build or desktop cannot do it.
    NotSupportedHere,
    // Endpoint and load.
    /// The URL is not usable.
    UrlRefused,
    /// The endpoint refused the connection.
    EndpointUnreachable,
    /// TLS failed.
    TlsFailed,
    /// The endpoint answered with a status: `status`.
    EndpointStatus,
    /// The endpoint answered with 401 or 403: `status`.
    EndpointKeyRefused,
    /// The endpoint answered with 404: `status`.
    EndpointNotFound,
    /// The endpoint answered with 429: `status`.
    EndpointLimited,
    /// The endpoint answered with 5xx: `status`.
    EndpointFailing,
    /// A run ended without a completed request: `cause`.
    NothingCompleted,
    /// The environment variable with the API key is not set: `name`.
    ApiKeyMissing,
    /// The prompts file is not usable: `line`.
    PromptsMalformed,
    /// The load plan cannot be run: `what`.
    PlanRefused,
    /// No load run is set up, or its host is gone or cannot be reached over SSH.
    LoadNotSetUp,
    /// A job of this kind already runs.
    AlreadyRunning,
    /// The sample project is not where the program looks.
    SampleMissing,
    /// The practice server could not listen.
    ListenFailed,
    // Reading.
    /// A probe id that does not exist: `id`.
    UnknownProbe,
    /// A cost case is not valid: `line`, `column`, `cause`.
    CostCaseMalformed,
    /// The output could not be read by the probe's parser.
    OutputUnreadable,
    /// A table of runs or models is not one that is known.
    TableMalformed,
    /// `config.json` is not usable.
    ModelConfigMalformed,
    // Bills.
    /// The file is empty.
    BillEmpty,
    /// The file is no text: `what`.
    BillBinary,
    /// The first row holds values: `text`.
    BillNoHeader,
    /// A row does not end: `line`.
    BillRowTooLong,
    /// More columns or tables than are read: `n`.
    BillTooManyColumns,
    /// The JSON is none: `line`, `what`.
    BillJson,
    /// A column that was asked for is not there: `name`, `known`.
    BillColumnUnknown,
    /// No column is known to hold amounts: `known`.
    BillNoAmounts,
    /// An option of the import cannot be read: `text`, `form`.
    BillOptionRefused,
    // Fields.
    /// Not an amount with its currency: `text`.
    NotMoney,
    /// Not a number: `text`.
    NotANumber,
    /// An option of the command line is out of range: `option`, `value`, `low`, `high`.
    OptionOutOfRange,
    /// The same, where `low` itself is out of range.
    OptionNotAbove,
    /// Out of range: `low`, `high`.
    OutOfRange,
    /// Nobody to show a window to.
    NoDisplay,
    /// The window could not be drawn, though there is a display.
    WindowFailed,
    /// A defect of the program itself.
    Internal,
}

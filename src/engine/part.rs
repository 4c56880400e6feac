//! The part file of a load run: what it gathers is on disk as it comes, so that nothing is lost with the program.
//!
//! One RON value a line. A running test and a part file found later become a record through the same fold, so that
//! sealing the file of a finished run again gives the same bytes and the same id.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset, TimeDelta};
use serde::{Deserialize, Serialize};

use crate::domain::evidence::{Kind, Record, Sealed, Source, VERSION, Vantage};
use crate::domain::failure::FailureKind;
use crate::domain::ids::{CandidateId, EvidenceId, HostId};
use crate::domain::load::{
    ClientHealth, GpuSample, LoadPlan, LoadRecord, RequestRecord, RunEnd, StepRecord, TokenSource,
};
use crate::project::store;

/// The longest line that is read back, bytes: one request of a million tokens fits.
const MAX_LINE: u64 = 16 << 20;
/// How a server's name begins when it is our practice server.
pub const PRACTICE_SERVER: &str = "leasebench-practice/";

/// One line of a part file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Line {
    /// The first line: what is run.
    Run(Box<Header>),
    /// A step began.
    Step {
        /// Level as asked.
        level: f64,
        /// Start, s since the start of the run.
        start_secs: f64,
        /// Requests planned; `None` when time ends it.
        asked: Option<u32>,
    },
    /// A request of the newest step ended.
    Request(RequestRecord),
    /// The newest step ended, s since the start of the run.
    StepEnd(f64),
    /// A GPU sample.
    Gpu(GpuSample),
    /// What the server calls itself.
    Server(String),
    /// A request option that the server refused.
    RefusedOption(String),
    /// Why GPUs are not sampled.
    GpuGap(FailureKind),
    /// The client's health so far, and how many measured requests were sent so far.
    Health {
        /// Health.
        client: ClientHealth,
        /// Requests sent, ended or not.
        sent: u32,
    },
    /// The run ended.
    End {
        /// How.
        ended: RunEnd,
        /// When.
        at: DateTime<FixedOffset>,
        /// The client's health over the whole run.
        client: ClientHealth,
    },
}

/// What a run is, for its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Program and version.
    pub program: String,
    /// Whether it can count.
    pub kind: Kind,
    /// The candidate it is about.
    pub candidate: Option<CandidateId>,
    /// The host.
    pub host: Option<HostId>,
    /// Where it is measured from.
    pub vantage: Vantage,
    /// Digest of the brief.
    pub brief_digest: Option<String>,
    /// When it began.
    pub began_at: DateTime<FixedOffset>,
    /// The plan.
    pub plan: LoadPlan,
}

/// A run as far as it was gathered.
#[derive(Debug, Clone)]
pub struct Gathered {
    header: Header,
    steps: Vec<StepRecord>,
    is_step_open: bool,
    /// Requests the newest step was planned to send; `None` when time ends it.
    asked: Option<u32>,
    gpu_samples: Vec<GpuSample>,
    server: String,
    refused_options: Vec<String>,
    gpu_gap: Option<FailureKind>,
    client: ClientHealth,
    sent: u32,
    end: Option<(RunEnd, DateTime<FixedOffset>)>,
}

impl Gathered {
    /// A run of which nothing but the header is known.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self {
            header,
            steps: Vec::new(),
            is_step_open: false,
            asked: None,
            gpu_samples: Vec::new(),
            server: String::new(),
            refused_options: Vec::new(),
            gpu_gap: None,
            client: ClientHealth::default(),
            sent: 0,
            end: None,
        }
    }

    /// Takes one more line.
    pub fn take(&mut self, line: Line) {
        match line {
            // A second header cannot come from us; the first stands.
            Line::Run(_) => {}
            Line::Step { level, start_secs, asked } => {
                self.asked = asked;
                self.is_step_open = true;
                self.steps.push(StepRecord {
                    level,
                    start_secs,
                    end_secs: start_secs,
                    asked: asked.unwrap_or(0),
                    requests: Vec::new(),
                });
            }
            Line::Request(request) => {
                let asked = self.asked;
                if let Some(step) = self.steps.last_mut() {
                    step.end_secs = step.end_secs.max(request.end_secs);
                    step.requests.push(request);
                    step.asked = asked.unwrap_or_else(|| u32::try_from(step.requests.len()).unwrap_or(u32::MAX));
                }
            }
            Line::StepEnd(end_secs) => {
                self.is_step_open = false;
                if let Some(step) = self.steps.last_mut() {
                    step.end_secs = end_secs;
                    step.requests.sort_by(|a, b| {
                        a.intended_secs.total_cmp(&b.intended_secs).then(a.sent_secs.total_cmp(&b.sent_secs))
                    });
                }
            }
            Line::Gpu(sample) => self.gpu_samples.push(sample),
            Line::Server(server) => self.server = server,
            Line::RefusedOption(name) => self.refused_options.push(name),
            Line::GpuGap(kind) => self.gpu_gap = Some(kind),
            Line::Health { client, sent } => {
                self.client = client;
                self.sent = sent;
            }
            Line::End { ended, at, client } => {
                self.client = client;
                self.end = Some((ended, at));
            }
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &LoadPlan {
        &self.header.plan
    }

    /// The steps so far.
    #[must_use]
    pub fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// GPU samples so far.
    #[must_use]
    pub fn gpu_samples(&self) -> &[GpuSample] {
        &self.gpu_samples
    }

    /// Measured requests that ended.
    #[must_use]
    pub fn n_requests(&self) -> usize {
        self.steps.iter().map(|step| step.requests.len()).sum()
    }

    /// The last moment of the run that was written down, s since its start.
    fn last_secs(&self) -> f64 {
        let steps = self.steps.iter().map(|step| step.end_secs.max(step.start_secs));
        let samples = self.gpu_samples.iter().map(|sample| sample.at_secs);
        steps.chain(samples).chain([self.client.wall_secs]).filter(|secs| secs.is_finite()).fold(0.0, f64::max)
    }

    /// The record. A run without an end was interrupted, and is dated by the last moment that it wrote down itself: what
    /// was done to its file later says nothing about it. Requests that were sent and are not here are lost samples.
    #[must_use]
    pub fn record(mut self) -> Record {
        let n_requests = u32::try_from(self.n_requests()).unwrap_or(u32::MAX);
        let (ended, taken_at) = match self.end {
            Some(end) => end,
            None => {
                if self.is_step_open
                    && let Some(step) = self.steps.last()
                {
                    self.take(Line::StepEnd(step.end_secs));
                }
                self.client.lost += self.sent.saturating_sub(n_requests);
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "float casts saturate, and a date too far away is left out"
                )]
                let ran = TimeDelta::milliseconds((self.last_secs() * 1e3) as i64);
                let began_at = self.header.began_at;
                (RunEnd::Interrupted, began_at.checked_add_signed(ran).unwrap_or(began_at))
            }
        };
        let Header { program, kind, candidate, host, vantage, brief_digest, plan, .. } = self.header;
        let kind = if self.server.starts_with(PRACTICE_SERVER) { Kind::Practice } else { kind };
        Record {
            version: VERSION,
            program,
            kind,
            source: Source::Load,
            candidate,
            host,
            taken_at,
            vantage,
            brief_digest,
            captured: None,
            facts: Vec::new(),
            findings: Vec::new(),
            absent: None,
            load: Some(LoadRecord {
                plan,
                steps: self.steps,
                client: self.client,
                ended,
                gpu_samples: self.gpu_samples,
                server: self.server,
                refused_options: self.refused_options,
                gpu_gap: self.gpu_gap,
            }),
            supersedes: None,
            origin_note: String::new(),
        }
    }
}

/// Writes a part file.
pub struct Writer {
    file: BufWriter<File>,
    path: PathBuf,
    is_dirty: bool,
}

impl Writer {
    /// Creates a part file in `folder` (made when it is not there), under a name no other has, with its first line.
    ///
    /// # Errors
    /// The operating system's, when the folder or the file cannot be written.
    pub fn create(folder: &Path, header: &Header) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let stamp = header.began_at.format("%Y%m%d-%H%M%S");
        let mut number = std::process::id();
        let (file, path) = loop {
            let path = folder.join(format!("load-{stamp}-{number}.part"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (file, path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number = number.wrapping_add(1),
                Err(error) => return Err(error),
            }
        };
        // Held until the run is sealed, so that nobody takes it for an interrupted one. Where the file system knows no
        // locks it is only the project's own lock that keeps others away.
        file.try_lock().ok();
        let mut writer = Self { file: BufWriter::new(file), path, is_dirty: false };
        writer.append(&Line::Run(Box::new(header.clone())))?;
        writer.sync()?;
        Ok(writer)
    }

    /// Where it stands.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The operating system's: a full disk.
    pub fn append(&mut self, line: &Line) -> io::Result<()> {
        let text = ron::to_string(line).map_err(io::Error::other)?;
        self.is_dirty = true;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }

    /// Hands everything to the operating system, so that it outlives this program.
    ///
    /// # Errors
    /// The operating system's: a full disk.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Puts everything on the disk, so that it outlives this machine's power.
    ///
    /// # Errors
    /// The operating system's: a full disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        if std::mem::take(&mut self.is_dirty) {
            self.file.get_ref().sync_data()?;
        }
        Ok(())
    }

    /// The run is sealed: the part file takes the record's name, beside which it can be removed once that is kept.
    ///
    /// # Errors
    /// The operating system's. The old name then stands, and the run would be sealed once more, to the same id.
    pub fn rename_after(&self, sealed: &Sealed) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_file_name(format!("{}.part", sealed.id.0)))
    }
}

/// Seals a part file that was found: of a run that was interrupted, or that ended and was not kept.
///
/// `None` when it cannot be read or holds no run, and while its writer still holds it. A last line that was cut in the writing is left out.
#[must_use]
pub fn seal_part(path: &Path) -> Option<Sealed> {
    if store::is_written_now(path) {
        return None;
    }
    let file = File::open(path).ok()?;
    let mut reader = BufReader::new(file);
    let mut gathered: Option<Gathered> = None;
    while let Some(text) = next_line(&mut reader) {
        match (ron::from_str(&text), &mut gathered) {
            (Ok(Line::Run(header)), None) => gathered = Some(Gathered::new(*header)),
            (Ok(line), Some(gathered)) => gathered.take(line),
            // Without a header it is no part file; what follows a broken line cannot be trusted.
            (Ok(_) | Err(_), None) => return None,
            (Err(_), Some(_)) => break,
        }
    }
    Sealed::seal(gathered?.record()).ok()
}

/// Removes the part file of a run whose record is kept.
pub fn remove_kept(evidence_folder: &Path, id: &EvidenceId) {
    // When it stays, it is found at the next start, and removed then because its record is there.
    std::fs::remove_file(evidence_folder.join(format!("{}.part", id.0))).ok();
}

/// Seals every part file in a folder of evidence that no running program writes. Files whose record is kept already are
/// removed; those that hold no run stay.
#[must_use]
pub fn seal_found(evidence_folder: &Path) -> Vec<(PathBuf, Sealed)> {
    let Ok(entries) = std::fs::read_dir(evidence_folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "part"))
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.with_extension("ron").exists() {
            std::fs::remove_file(&path).ok();
        } else if let Some(sealed) = seal_part(&path) {
            found.push((path, sealed));
        }
    }
    found
}

/// One whole line, or `None` at the end, at a line without its end, at one that is too long, and when reading fails.
fn next_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    io::Read::take(&mut *reader, MAX_LINE).read_until(b'\n', &mut line).ok()?;
    let line = line.strip_suffix(b"\n")?;
    String::from_utf8(line.to_vec()).ok()
}

/// A request of which nothing came, to be filled in.
#[must_use]
pub(crate) fn empty_request(intended_secs: f64, sent_secs: f64) -> RequestRecord {
    RequestRecord {
        intended_secs,
        sent_secs,
        first_token_secs: None,
        first_text_secs: None,
        last_token_secs: None,
        end_secs: sent_secs,
        gaps_us: Vec::new(),
        events: 0,
        merged: false,
        first_event_tokens: 0,
        input_tokens: None,
        output_tokens: None,
        token_source: TokenSource::None,
        outcome: crate::domain::load::Outcome::Cancelled,
        message: String::new(),
    }
}

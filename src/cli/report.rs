//! `leasebench report PROJECT`: the project as a document, or its steps as CSV.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::app::report::{Reported, report};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::Text;
use crate::engine::clock;
use crate::project::store;
use crate::report::{self, ReportFormat};

use super::out;
use super::records::{Faults, Looked};

/// What is written, and where.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Project folder.
    project: PathBuf,
    /// Format of the report.
    #[arg(long, value_name = "NAME", default_value = ReportFormat::Html.name(),
        value_parser = PossibleValuesParser::new(ReportFormat::ALL.map(ReportFormat::name)))]
    format: String,
    /// File to write; standard output where none is named.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show names and addresses of hosts and endpoints, which are left out otherwise.
    #[arg(long)]
    with_addresses: bool,
    /// Print JSON about what was written.
    #[arg(long, requires = "output")]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape {
    format: &'static str,
    language: &'static str,
    path: PathBuf,
    bytes: usize,
    records: usize,
    demonstration: bool,
    #[serde(flatten)]
    faults: Faults,
}

/// Exit status 0 when the report was written.
pub(super) fn run(args: &ReportArgs, text: &Text, language: &'static str) -> Result<ExitCode, Failure> {
    let format =
        ReportFormat::ALL.into_iter().find(|format| format.name() == args.format).unwrap_or(ReportFormat::Html);
    let now = clock::now().wall;
    let looked = Looked::at(&args.project, now, text)?;
    let reported = Reported {
        plan: &looked.plan,
        revision: looked.revision,
        evidence: &looked.evidence,
        altered: &looked.altered,
        made_at: now,
        with_addresses: args.with_addresses,
    };
    let written = report::render(&report(reported, &looked.derived), format, text);
    for line in looked.faults.lines(text) {
        out::warning(&line);
    }
    looked.faults.warn_unsealed(text);
    let Some(path) = &args.output else {
        out::line(written.trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    store::write_atomic(path, written.as_bytes())
        .map_err(|error| Failure::new(FailureKind::FileUnwritable).because(error).at(path.display()))?;
    if args.json {
        out::json(&Shape {
            format: format.name(),
            language,
            path: path.clone(),
            bytes: written.len(),
            records: looked.evidence.len(),
            demonstration: looked.plan.demonstration,
            faults: looked.faults,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

//! `leasebench report PROJECT`: the project as a document, or its steps as CSV.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::app::derived::Derived;
use crate::app::report::{Reported, report};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::Text;
use crate::engine::clock;
use crate::project::store;
use crate::report::{self, ReportFormat};

use super::out;
use super::records::Faults;

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
    let opened = store::read(&super::folder_of(&args.project))?;
    let faults = Faults::of(&opened, text);
    let evidence: BTreeMap<_, _> = opened.evidence.into_iter().map(|sealed| (sealed.id.clone(), sealed)).collect();
    let now = clock::now().wall;
    let derived = Derived::compute(&opened.plan, &evidence, opened.altered.len(), now.date_naive());
    let reported = Reported {
        plan: &opened.plan,
        revision: opened.revision,
        evidence: &evidence,
        altered: &opened.altered,
        made_at: now,
        with_addresses: args.with_addresses,
    };
    let written = report::render(&report(reported, &derived), format, text);
    for line in faults.lines(text) {
        out::warning(&line);
    }
    faults.warn_unsealed(text);
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
            records: evidence.len(),
            demonstration: opened.plan.demonstration,
            faults,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

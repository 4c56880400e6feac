//! `leasebench verify PROJECT`: holds every record's bytes against its id.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::domain::failure::Failure;
use crate::domain::text::{Text, fill};
use crate::project::store;

use super::out;
use super::records::Faults;

/// What is verified.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Project folder.
    project: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape {
    project: String,
    records: usize,
    #[serde(flatten)]
    faults: Faults,
    ok: bool,
}

/// Exit status 0 when every record is what its name says and every record that the plan knows is there, else 1. A run
/// that was not sealed yet and a file that is no record are named and change nothing in that.
pub(super) fn run(args: &VerifyArgs, text: &Text) -> Result<ExitCode, Failure> {
    let opened = store::read(&super::folder_of(&args.project))?;
    let faults = Faults::of(&opened, text);
    let ok = faults.none();
    faults.warn_unsealed(text);
    if args.json {
        let project = args.project.display().to_string();
        out::json(&Shape { project, records: opened.evidence.len(), faults, ok })?;
    } else {
        for line in faults.lines(text) {
            out::line(&line);
        }
        let (altered, missing) = faults.counts();
        let counts = [
            ("records", opened.evidence.len().to_string()),
            ("altered", altered.to_string()),
            ("missing", missing.to_string()),
        ];
        out::line(&fill(&text.cli.verify_total, &counts));
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

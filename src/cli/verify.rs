//! `leasebench verify PROJECT`: holds every record's bytes against its id.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::domain::failure::Failure;
use crate::domain::text::{Text, fill};
use crate::project::store;

use super::out;

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
    altered: Vec<AlteredShape>,
    missing: Vec<String>,
    ok: bool,
}

#[derive(Serialize)]
struct AlteredShape {
    file: String,
    why: String,
}

/// Exit status 0 when every record is what its name says and every record that a note cites is there, else 1.
pub(super) fn run(args: &VerifyArgs, text: &Text) -> Result<ExitCode, Failure> {
    let opened = store::read(&super::folder_of(&args.project))?;
    let missing: Vec<String> = opened
        .plan
        .notes
        .iter()
        .filter_map(|note| note.on.as_ref())
        .filter(|id| opened.evidence.iter().all(|sealed| sealed.id != **id))
        .map(|id| id.0.clone())
        .collect();
    let ok = opened.altered.is_empty() && missing.is_empty();
    if args.json {
        let altered = opened
            .altered
            .iter()
            .map(|altered| AlteredShape { file: altered.file.clone(), why: text.failure(&altered.failure).what })
            .collect();
        let project = args.project.display().to_string();
        out::json(&Shape { project, records: opened.evidence.len(), altered, missing, ok })?;
    } else {
        for altered in &opened.altered {
            out::line(&out::visible(&format!("{}  {}", altered.file, text.failure(&altered.failure).what)));
        }
        for id in &missing {
            out::line(&fill(&text.cli.verify_missing, &[("id", id.clone())]));
        }
        let counts = [
            ("records", opened.evidence.len().to_string()),
            ("altered", opened.altered.len().to_string()),
            ("missing", missing.len().to_string()),
        ];
        out::line(&fill(&text.cli.verify_total, &counts));
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

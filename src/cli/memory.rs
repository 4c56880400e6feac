//! `leasebench memory --input FILE`: predicts the GPU memory of every row of a table.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::memory::Catalogue;
use crate::domain::memory::table::{self, RowFigure, RowPrediction};
use crate::domain::text::Text;

use super::out;

/// What is read of a table.
const CAP: u64 = 64 << 20;

/// What is predicted.
#[derive(Debug, Args)]
pub(super) struct MemoryArgs {
    /// Table of runs as CSV: serving engines, training or image generation, told by its columns; - for standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Facts of models as CSV, beside the ones that come with the program; its names win.
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Exit status 0 when the table could be read, whatever its rows say; 2 when not.
pub(super) fn run(args: &MemoryArgs, _text: &Text) -> Result<ExitCode, Failure> {
    let mut catalogue = Catalogue::builtin().clone();
    if let Some(path) = &args.models {
        let models = Catalogue::parse(&read(path)?).map_err(|error| malformed(path).because(error))?;
        for (row, bad) in models.notes() {
            out::warning(&if row.is_empty() { bad.to_string() } else { format!("{row}: {bad}") });
        }
        catalogue.overlay(&models);
    }
    let rows =
        table::predict(&read(&args.input)?, &catalogue).map_err(|error| malformed(&args.input).because(error))?;
    if args.json {
        out::json(&rows)?;
    } else {
        out::line(&shown(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(rows: &[RowPrediction]) -> String {
    let head = ["id", "weights GiB", "KV GiB", "KV tokens", "peak GiB", "fits", "missing"];
    let figure = |figure: Option<RowFigure>, digits: usize| {
        figure.map_or_else(String::new, |f| format!("{:.digits$} ({:.digits$}…{:.digits$})", f.value, f.low, f.high))
    };
    let body = rows.iter().map(|row| {
        vec![
            row.id.clone(),
            figure(row.weights_gib_per_gpu, 2),
            figure(row.kv_gib_per_gpu, 2),
            figure(row.kv_tokens, 0),
            figure(row.peak_gib_per_gpu, 2),
            row.fits.unwrap_or_default().to_owned(),
            row.missing.join(", "),
        ]
    });
    let all: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).to_vec()).chain(body).collect();
    let visible: Vec<Vec<String>> =
        all.into_iter().map(|row| row.iter().map(|cell| out::visible(cell)).collect()).collect();
    out::columns(&visible)
}

fn malformed(path: &Path) -> Failure {
    Failure::new(FailureKind::TableMalformed).at(path.display())
}

fn unreadable(path: &Path) -> Failure {
    Failure::new(FailureKind::FileUnreadable).at(path.display())
}

/// The text of a file, bad UTF-8 replaced, or a failure when it cannot be read or is larger than is read.
fn read(path: &Path) -> Result<String, Failure> {
    let is_stdin = path.as_os_str() == "-";
    let mut bytes = Vec::new();
    let done = if is_stdin {
        io::stdin().lock().take(CAP + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(CAP + 1).read_to_end(&mut bytes))
    };
    done.map_err(|error| unreadable(path).because(error))?;
    if bytes.len() as u64 > CAP {
        return Err(unreadable(path).because(format!("it is larger than {} MiB", CAP >> 20)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

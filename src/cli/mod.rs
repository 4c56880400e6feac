//! The program without a window, for scripts: every verb has `--json`, prints failures on standard error, and leaves
//! with 2 for wrong use or unreadable input.

mod bill;
mod check;
mod cost;
mod cost_case;
mod load;
mod memory;
pub mod out;
mod parse;
mod parse_model;
mod practice;
mod probe;
mod records;
mod report;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::app::Begin;
use crate::app::command::{Screen, ThemeChoice};
use crate::domain::candidate::Candidate;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::{Language, Text};
use crate::project::plan::Plan;

/// A workbench for people who rent GPU servers: from the brief to the signed decision, with the evidence behind it.
///
/// Without a verb it opens the window, on PROJECT when one is named.
#[derive(Debug, Parser)]
#[command(name = "leasebench", version, about)]
struct Args {
    /// Project folder to open in the window.
    project: Option<PathBuf>,
    /// Step to show first in the window.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Screen::ALL.map(Screen::name)))]
    screen: Option<String>,
    /// Language of window, reports and messages.
    #[arg(long, value_name = "TAG", global = true, value_parser = PossibleValuesParser::new(Language::ALL.map(Language::tag)))]
    lang: Option<String>,
    /// Theme of the window.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["dark", "light"]))]
    theme: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What can be done without a window.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Print every criterion's verdict; leave with 0 only when each passes or is waived.
    Check(check::CheckArgs),
    /// Write the project as a report, or its measured steps as CSV.
    Report(report::ReportArgs),
    /// Hold every evidence record against its id and name those that were altered.
    Verify(verify::VerifyArgs),
    /// Ask a host, or this computer, its probes.
    Probe(probe::ProbeArgs),
    /// Read a captured output by a probe's parser: its facts and findings.
    Parse(parse::ParseArgs),
    /// Read a bill: exact totals in any grouping, and everything in it that is not as it should be.
    ImportBill(bill::BillArgs),
    /// Run one load test against an OpenAI-compatible endpoint.
    Load(Box<load::LoadArgs>),
    /// Predict the GPU memory of every row of a table: serving engines, training or image generation.
    Memory(memory::MemoryArgs),
    /// Print what accepted work costs on each candidate; leave with 0 only when each has its cost.
    Cost(cost::CostArgs),
    /// Answer the questions of a cost case, or of a folder of them; leave with 0 only when all are as expected.
    CostCase(cost_case::CostCaseArgs),
    /// Serve a small OpenAI-compatible endpoint with scripted behaviour on this computer's loopback.
    PracticeServer(practice::PracticeArgs),
}

/// What the arguments ask for.
#[derive(Debug)]
pub enum Asked {
    /// The window.
    Window(Begin),
    /// A verb, to be given to [`run`].
    Headless(Headless),
    /// Nothing: help was printed, or the use was wrong; leave with this status.
    Leave(ExitCode),
}

/// A verb with its arguments and its language.
#[derive(Debug)]
pub struct Headless {
    verb: Verb,
    language: Language,
}

/// Reads the arguments. Help goes to standard output, wrong use to standard error.
pub fn read(args: impl IntoIterator<Item = OsString>) -> Asked {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nobody is left to tell when printing fails.
            error.print().ok();
            return Asked::Leave(if error.use_stderr() { ExitCode::from(out::WRONG_USE) } else { ExitCode::SUCCESS });
        }
    };
    let language = Language::ALL.into_iter().find(|language| Some(language.tag()) == args.lang.as_deref());
    match args.verb {
        Some(verb) => Asked::Headless(Headless { verb, language: language.unwrap_or_default() }),
        None => Asked::Window(Begin {
            project: args.project,
            screen: args.screen.as_deref().and_then(Screen::named),
            language,
            theme: args
                .theme
                .as_deref()
                .map(|name| if name == "dark" { ThemeChoice::Dark } else { ThemeChoice::Light }),
        }),
    }
}

/// Does what a verb says.
#[must_use]
pub fn run(headless: Headless) -> ExitCode {
    let text = Text::of(headless.language);
    let done = match headless.verb {
        Verb::Check(args) => check::run(&args, text),
        Verb::Report(args) => report::run(&args, text, headless.language.tag()),
        Verb::Verify(args) => verify::run(&args, text),
        Verb::Probe(args) => probe::run(&args, text),
        Verb::Parse(args) => parse::run(&args, text),
        Verb::ImportBill(args) => bill::run(&args, text),
        Verb::Load(args) => load::run(&args, text),
        Verb::Memory(args) => memory::run(&args, text),
        Verb::Cost(args) => cost::run(&args, text),
        Verb::CostCase(args) => cost_case::run(&args, text),
        Verb::PracticeServer(args) => practice::run(&args, text),
    };
    done.unwrap_or_else(|failure| out::failure(text, &failure))
}

/// The project folder that an argument means: the folder, or the one around a named `project.ron`.
fn folder_of(path: &std::path::Path) -> PathBuf {
    crate::engine::files::project_folder(path)
}

/// The candidate with this name or id.
fn candidate<'a>(plan: &'a Plan, name: &str) -> Result<&'a Candidate, Failure> {
    plan.candidates
        .iter()
        .find(|candidate| candidate.name == name || candidate.id.as_str() == name)
        .ok_or_else(|| Failure::new(FailureKind::CandidateUnknown).with("name", name).with("known", names(plan)))
}

/// The names of all candidates in a row.
fn names(plan: &Plan) -> String {
    let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

/// Prints why the window did not open, and gives the status to leave with.
#[must_use]
pub fn refuse(language: Option<Language>, failure: &Failure) -> ExitCode {
    out::failure(Text::of(language.unwrap_or_default()), failure)
}

/// Why no window can be opened here, when that is known before it is tried.
#[must_use]
pub fn no_display() -> Option<Failure> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let needs_server = cfg!(all(unix, not(target_os = "macos")));
    let has_server = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET");
    (needs_server && !has_server).then(|| Failure::new(FailureKind::NoDisplay))
}

//! `leasebench practice-server`: a small endpoint with scripted behaviour, for a first look and for tests.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::domain::failure::Failure;
use crate::domain::text::{Text, fill};
use crate::engine::practice::{Mode, Server, Settings};

use super::out;

/// How the server behaves.
#[derive(Debug, Args)]
pub(super) struct PracticeArgs {
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// From the whole request to the first token, ms.
    #[arg(long, default_value_t = 100.0, value_parser = millis)]
    ttft_ms: f64,
    /// Between two tokens, ms.
    #[arg(long, default_value_t = 20.0, value_parser = millis)]
    gap_ms: f64,
    /// Tokens of an answer where the request does not say.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tokens: u32,
    /// What it does; a path that begins with /m/MODE says it for one request.
    #[arg(long, default_value = "plain", value_parser = PossibleValuesParser::new(Mode::ALL.map(Mode::name)))]
    mode: String,
    /// How many answers it gives at once; the others wait their turn. Without it there is no limit.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,
    /// Ends by itself after so many seconds.
    #[arg(long, value_parser = millis)]
    ttl_secs: Option<f64>,
}

/// Prints one line with the address, then serves until its time is over or the program is stopped.
pub(super) fn run(args: &PracticeArgs, text: &Text) -> Result<ExitCode, Failure> {
    let settings = Settings {
        ttft: Duration::from_secs_f64(args.ttft_ms / 1e3),
        gap: Duration::from_secs_f64(args.gap_ms / 1e3),
        tokens: args.tokens,
        mode: Mode::named(&args.mode).unwrap_or(Mode::Plain),
        slots: args.slots.map(|slots| usize::try_from(slots).unwrap_or(usize::MAX)),
    };
    let server = Server::start(args.port, settings, args.ttl_secs.map(Duration::from_secs_f64))?;
    out::line(&fill(&text.cli.practice_address, &[("address", format!("http://{}", server.address()))]));
    server.wait();
    Ok(ExitCode::SUCCESS)
}

/// A time that is not negative and not beyond a year's worth of seconds.
fn millis(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=31_536_000.0).contains(&value) => Ok(value),
        Ok(_) => Err("it must be between 0 and 31536000".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

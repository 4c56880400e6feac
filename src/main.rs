//! Opens the window, or runs a verb without one.

use std::process::ExitCode;

use leasebench::cli::{self, Asked};

fn main() -> ExitCode {
    match cli::read(std::env::args_os()) {
        Asked::Window(begin) => window(begin),
        Asked::Headless(headless) => cli::run(headless),
        Asked::Leave(code) => code,
    }
}

#[cfg(feature = "desktop")]
fn window(begin: leasebench::app::Begin) -> ExitCode {
    let language = begin.language;
    if let Some(failure) = cli::no_display() {
        return cli::refuse(language, &failure);
    }
    match leasebench::ui::shell::run(begin) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => cli::refuse(language, &failure),
    }
}

/// This build holds no window.
#[cfg(not(feature = "desktop"))]
fn window(begin: leasebench::app::Begin) -> ExitCode {
    use leasebench::domain::failure::{Failure, FailureKind};

    cli::refuse(begin.language, &Failure::new(FailureKind::NoDisplay))
}

//! Leasebench: a workbench for people who rent GPU servers. A brief, candidates with their promises and prices, what was
//! really found on each, how it behaved under load, what one accepted request costs, verdicts, and the decision.
//!
//! # The map
//!
//! ```text
//! main     reads arguments, starts ui or cli; nothing else
//! domain   what things are and how numbers are made. Pure.
//! probe    what to ask a host and how to read the answer. Pure. One file a probe.
//! wire     what outside formats mean: completion streams, nvidia-smi XML. Pure, on well-kept parsers.
//! recipe   texts that are launched: quoting for a shell. Pure.
//! project  plan (what people edit), edit, history (undo), store (RON on disk)
//! report   project to report: one document, written as HTML or Markdown; steps as CSV. Pure.
//! engine   all waiting: jobs, hosts, endpoints, load runs, files, the clock
//! app      State and its two doors, command and event; derived (the one memo); notices. Knows no window.
//! ui       shell, screens, widgets, theme. The only place that knows egui.
//! cli      the same App without a window
//! ```
//!
//! # Who may know whom
//!
//! ```text
//! domain  <-  probe, recipe, wire, project, report  <-  engine  <-  app  <-  ui, cli
//! ```
//!
//! An arrow points at what may be imported; beside each other, `probe` and `recipe` may use `wire`, and `report` may use
//! `project`. `domain`, `probe`, `recipe`, `wire` and `report` have no io, no clock, no randomness and no threads. A test
//! reads the `use` lines and fails when this is broken.
//!
//! # One way round
//!
//! A person presses something; a screen turns it into a [`app::command::Command`]; [`app::App::command`] changes the
//! state or starts a job; the job's [`engine::event::Event`]s come back through a bounded queue; [`app::App::event`]
//! changes the state; screens draw the state. Menu, shortcut, button and command line all go through the same door.
//!
//! # Libraries, each chosen once
//!
//! What Leasebench exists for is written here: the measuring, the memory estimate, the cost, the verdicts, the evidence.
//! Everything else is a well-kept crate.
//!
//! - Window: `eframe`, `egui`, `egui_plot`, `egui_extras` (immediate mode: the screen is a function of the state), `rfd`
//!   (file dialogs). Only with the feature `desktop`.
//! - Hosts: `ssh2` (libssh2 with its own OpenSSL, so that a bare machine builds it), `nvml-wrapper` (this computer's GPUs),
//!   `hmac`, `sha1` and `base64` (hashed names and fingerprints in known_hosts).
//! - Endpoints: `tokio`, `hyper` with `hyper-util` and `http-body-util` (the frame in hand, nothing between it and the
//!   clock), `rustls` with `tokio-rustls` and `rustls-native-certs` (TLS without a system library).
//! - Formats: `serde` with `ron` (projects, records, words), `serde_json` (endpoints, `--json`), `quick-xml`
//!   (`nvidia-smi -q -x`), `csv` (exports).
//! - Numbers: `rust_decimal` (quoted decimals), `num-rational`, `num-bigint`, `num-traits` (exact money),
//!   `iso_currency` (currencies and their minor units), `chrono` (dates with their zone), `chrono-tz` (the zones themselves:
//!   a local day of 23 or 25 hours is billed as such).
//! - The rest: `clap` (command line), `directories` (where a user's settings live), `sha2` (evidence ids), `thiserror`
//!   (small error enums), `getrandom`, `rand_chacha` and `rand_core` (seeds and the arrivals they make),
//!   `unicode-segmentation` (characters as people see them), `tokio-util` (cancelling), `rustix` (CPU time of a
//!   thread, waiting on sockets, ending a group of processes).

pub mod app;
pub mod cli;
pub mod domain;
pub mod engine;
pub mod probe;
pub mod project;
pub mod recipe;
pub mod report;
#[cfg(feature = "desktop")]
pub mod ui;
pub mod wire;

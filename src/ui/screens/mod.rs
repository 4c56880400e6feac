//! The nine steps: `fn x_ui(ui, &State, &Text, &mut Vec<Command>)` each, one file a step. A screen draws and asks; it
//! does not wait, does no arithmetic beyond layout, and changes nothing but widget memory.
//!
//! This file only says which function draws what: the step, its inspector at the right, and the layers above it.

pub mod acceptance;
pub mod brief;
pub mod candidates;
pub mod cost;
pub mod curves;
pub mod decision;
pub mod hosts;
pub mod load;
pub mod memory;
pub mod presentation;

use egui::Ui;

use crate::app::command::{Command, Layer, Screen};
use crate::app::state::State;
use crate::domain::text::Text;

/// Draws a step into the middle of the window, which scrolls up and down. A project is open.
pub fn show(screen: Screen, ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    match screen {
        Screen::Brief => brief::brief_ui(ui, state, text, out),
        Screen::Memory => memory::memory_ui(ui, state, text, out),
        Screen::Candidates => candidates::candidates_ui(ui, state, text, out),
        Screen::Hosts => hosts::hosts_ui(ui, state, text, out),
        Screen::Load => load::load_ui(ui, state, text, out),
        Screen::Curves => curves::curves_ui(ui, state, text, out),
        Screen::Cost => cost::cost_ui(ui, state, text, out),
        Screen::Acceptance => acceptance::acceptance_ui(ui, state, text, out),
        Screen::Decision => decision::decision_ui(ui, state, text, out),
    }
}

/// Whether the step has something to show in the inspector now.
#[must_use]
pub fn has_inspector(screen: Screen, state: &State) -> bool {
    screen == Screen::Acceptance && acceptance::has_inspector(state)
}

/// Draws the inspector of a step, 336 wide; it scrolls up and down. Called only while [`has_inspector`] says so.
pub fn inspector(screen: Screen, ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    if screen == Screen::Acceptance {
        acceptance::inspector_ui(ui, state, text, out);
    }
}

/// Draws a layer that belongs to a step (add a host, paste an output, sign, waive, attest, set up a load run), with
/// `widgets::dialog`. Layers of the shell are drawn by the shell.
pub fn layer(layer: Layer, ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    match layer {
        Layer::ImportModel => brief::import_ui(ui, state, text, out),
        Layer::AddHost => hosts::add_ui(ui, state, text, out),
        Layer::ImportLog => memory::log_ui(ui, state, text, out),
        Layer::PasteOutput => hosts::paste_ui(ui, state, text, out),
        Layer::Candidate => candidates::candidate_ui(ui, state, text, out),
        Layer::Component => candidates::component_ui(ui, state, text, out),
        Layer::ManagedApi => cost::api_ui(ui, state, text, out),
        Layer::PasteOffer => candidates::offer_ui(ui, state, text, out),
        Layer::Waive => acceptance::waive_ui(ui, state, text, out),
        Layer::Attest => acceptance::attest_ui(ui, state, text, out),
        Layer::LoadSetup => load::setup_ui(ui, state, text, out),
        Layer::Presentation => presentation::presentation_ui(ui, state, text, out),
        Layer::Sign => decision::sign_ui(ui, state, text, out),
        _ => {}
    }
}

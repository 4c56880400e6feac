//! The editor of the selected candidate: everything its offer may state, and where the offer was read.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::candidate::{Boundary, Candidate};
use crate::domain::ids::CandidateId;
use crate::domain::text::{Text, fill};
use crate::domain::units::StatedSize;
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Field, columns, dialog, dialog_buttons, heading};

/// Height of everything but the fields: the edges of the window, the title, the buttons.
const AROUND: f32 = 240.0;

/// The dialog.
pub fn candidate_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let Some(candidate) = super::selected(state, &project.plan) else { return };
    let words = &text.candidates;
    dialog(ui, "candidate", &candidate.name, out, |ui, out| {
        let t = tokens(ui);
        ui.spacing_mut().item_spacing.y = t.space.s;
        let mut form = Form { text, candidate: candidate.clone(), changed: false };
        // The fields scroll between the title and the buttons, which stay in sight.
        let height = ui.ctx().content_rect().height() - AROUND;
        let fields = egui::ScrollArea::vertical().id_salt("candidate fields").max_height(height);
        fields.min_scrolled_height(height).auto_shrink([false, true]).show(ui, |ui| {
            ui.set_width(ui.available_width() - t.space.m);
            form.names(ui);
            section(ui, &words.group_allocation, |ui| form.allocation(ui));
            section(ui, &words.group_configuration, |ui| form.configuration(ui));
            section(ui, &words.section_source, |ui| form.source(ui));
        });
        if form.changed {
            out.push(Command::Edit(Edit::PutCandidate(Box::new(form.candidate))));
        }
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.done).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
            let remove = fill(&words.remove, &[("name", candidate.name.clone())]);
            if Button::destructive(&remove).show(ui).clicked() {
                out.push(Command::CloseTop);
                out.push(Command::Edit(Edit::RemoveCandidate(candidate.id.clone())));
            }
        });
    });
}

fn section(ui: &mut Ui, title: &str, content: impl FnOnce(&mut Ui)) {
    let t = tokens(ui);
    ui.add_space(t.space.s);
    heading(ui, Font::Subhead, title);
    content(ui);
}

/// Names a field of one candidate's editor: half-typed text of one must not show up in another.
pub(super) fn field_salt(candidate: &CandidateId, field: &str) -> String {
    format!("candidate.{candidate}.{field}")
}

/// The candidate while its fields are drawn.
struct Form<'a> {
    text: &'a Text,
    candidate: Candidate,
    changed: bool,
}

impl Form<'_> {
    fn names(&mut self, ui: &mut Ui) {
        let id = self.candidate.id.clone();
        let salt = |field: &str| field_salt(&id, field);
        let words = &self.text.candidates;
        let gap = tokens(ui).space.m;
        columns(ui, gap, [1.0, 2.0], |[name, short]| {
            self.changed |= Field::new(&salt("name"), &words.label_name).text(name, &mut self.candidate.name);
            let field = Field::new(&salt("short"), &words.label_short).hint(&words.hint_short);
            self.changed |= field.text(short, &mut self.candidate.short);
        });
    }

    fn allocation(&mut self, ui: &mut Ui) {
        let id = self.candidate.id.clone();
        let salt = |field: &str| field_salt(&id, field);
        let (text, gap) = (self.text, tokens(ui).space.m);
        let words = &text.candidates;
        let boundaries = Boundary::ALL.map(|boundary| (boundary, text.boundary(boundary)));
        let (promised, term) = (&mut self.candidate.promised, &mut self.candidate.term);
        let mut changed = false;
        columns(ui, gap, [1.4, 1.0, 1.0], |[boundary, reclaimable, region]| {
            let field = Field::new(&salt("boundary"), &words.row_boundary);
            changed |= field.optional_choice(boundary, text, &boundaries, &mut promised.boundary);
            let field = Field::new(&salt("reclaimable"), &words.row_reclaimable);
            changed |= field.yes_no(reclaimable, text, &mut term.reclaimable);
            changed |= words_field(region, &salt("region"), text.name("region"), &mut promised.region);
        });
        columns(ui, gap, [1.0, 2.4], |[months, note]| {
            let field = Field::new(&salt("months"), &words.label_months).unit(&words.unit_months);
            changed |= field.hint(&words.hint_months).whole32(months, text, 0..=120, &mut term.months);
            changed |= Field::new(&salt("term_note"), &words.label_note).text(note, &mut term.note);
        });
        self.changed |= changed;
    }

    fn configuration(&mut self, ui: &mut Ui) {
        let id = self.candidate.id.clone();
        let salt = |field: &str| field_salt(&id, field);
        let (text, gap) = (self.text, tokens(ui).space.m);
        let words = &text.candidates;
        let promised = &mut self.candidate.promised;
        let mut changed = false;
        columns(ui, gap, [1.4, 1.0, 1.0], |[model, count, memory]| {
            changed |= words_field(model, &salt("gpu_model"), text.name("gpu_model"), &mut promised.gpu_model);
            let field = Field::new(&salt("gpu_count"), &words.label_count);
            changed |= field.whole32(count, text, 1..=100_000, &mut promised.gpu_count);
            changed |= size_field(memory, text, &salt("gpu_memory"), &words.label_gpu_memory, &mut promised.gpu_memory);
        });
        columns(ui, gap, [1.0; 4], |[cores, ram, disk, kind]| {
            let field = Field::new(&salt("vcpu"), &words.row_cores);
            changed |= field.whole32(cores, text, 1..=1_000_000, &mut promised.vcpu);
            changed |= size_field(ram, text, &salt("ram"), &words.row_ram, &mut promised.ram);
            changed |= size_field(disk, text, &salt("disk"), &words.row_disk, &mut promised.disk);
            changed |= words_field(kind, &salt("disk_kind"), text.name("disk_kind"), &mut promised.disk_kind);
        });
        columns(ui, gap, [1.0; 3], |[network, driver, cuda]| {
            let field = Field::new(&salt("network"), text.name("network")).unit("Gb/s");
            changed |= field.number(network, text, 0.001..=1_000_000.0, &mut promised.network_gbit);
            changed |= words_field(driver, &salt("driver"), text.name("driver"), &mut promised.driver);
            changed |= words_field(cuda, &salt("cuda"), text.name("cuda"), &mut promised.cuda);
        });
        columns(ui, gap, [1.4, 1.0, 1.0], |[image, ipv4, ipv6]| {
            changed |= words_field(image, &salt("os_image"), text.name("os_image"), &mut promised.os_image);
            changed |= Field::new(&salt("ipv4"), text.name("ipv4")).yes_no(ipv4, text, &mut promised.ipv4);
            changed |= Field::new(&salt("ipv6"), text.name("ipv6")).yes_no(ipv6, text, &mut promised.ipv6);
        });
        self.changed |= changed;
    }

    fn source(&mut self, ui: &mut Ui) {
        let id = self.candidate.id.clone();
        let salt = |field: &str| field_salt(&id, field);
        let (text, gap) = (self.text, tokens(ui).space.m);
        let words = &text.candidates;
        let source = &mut self.candidate.source;
        let mut changed = false;
        columns(ui, gap, [2.0, 1.0], |[who, read_on]| {
            changed |= Field::new(&salt("who"), &words.who).hint(&words.hint_who).text(who, &mut source.who);
            changed |= Field::new(&salt("read_on"), &words.read_on).date(read_on, text, &mut source.read_on);
        });
        changed |= Field::new(&salt("source"), &words.source_text).lines(ui, 4, &mut source.text);
        self.changed |= changed;
    }
}

/// Words that may be absent: an empty field is "not stated".
fn words_field(ui: &mut Ui, salt: &str, label: &str, value: &mut Option<String>) -> bool {
    let mut words = value.clone().unwrap_or_default();
    if !Field::new(salt, label).text(ui, &mut words) {
        return false;
    }
    *value = Some(words).filter(|words| !words.trim().is_empty());
    true
}

/// A size with the unit it was stated in.
fn size_field(ui: &mut Ui, text: &Text, salt: &str, label: &str, value: &mut Option<StatedSize>) -> bool {
    let words = &text.candidates;
    Field::new(salt, label).hint(&words.hint_size).parsed(ui, value, super::rows::size_typed, |typed| {
        typed.parse().map_err(|_no_size: crate::domain::units::NotASize| words.bad_size.clone())
    })
}

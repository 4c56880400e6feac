//! What the memory is for, and the settings that it depends on.

use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::Project;
use crate::domain::brief::{Brief, Precision};
use crate::domain::format;
use crate::domain::memory::offer::{FactsFrom, scheme_of};
use crate::domain::memory::rules::EngineKind;
use crate::domain::memory::train::{Optimizer, Sharding};
use crate::domain::memory::{self, Catalogue, MemoryPlan, MemoryWork, image};
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Field, caption, columns, icons, segmented, small};

/// Inference, training, images.
pub(super) fn tabs_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let choices: Vec<(MemoryWork, &str)> = MemoryWork::ALL.iter().map(|work| (*work, text.name(work.key()))).collect();
    if let Some(work) = segmented(ui, &choices, project.plan.memory.work)
        && work != project.plan.memory.work
    {
        out.push(Command::Edit(Edit::PutMemory(Box::new(MemoryPlan { work, ..project.plan.memory.clone() }))));
    }
}

/// Rows of the catalogue that are offered at once.
const OFFERED: usize = 6;

/// The model by name, where its facts come from, and the ways to other facts.
pub(super) fn model_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    let brief = &project.plan.brief;
    let plan = &project.plan.memory;
    let mut name = brief.model.name.clone();
    columns(ui, t.space.m, [2.0, 2.4, -180.0], |[field, from, read]| {
        Field::new("memory model", &words.model).hint(&words.model_hint).text(field, &mut name);
        from.add_space(20.0);
        let (facts, source) = memory::offer::facts_of(brief, plan);
        let origin = if facts.origin.is_empty() { text.common.not_stated.clone() } else { facts.origin.clone() };
        let said = match source {
            FactsFrom::Files => fill(&words.facts_files, &[("origin", origin)]),
            FactsFrom::Catalogue => fill(&words.facts_catalogue, &[("origin", origin)]),
            FactsFrom::Typed => words.facts_typed.clone(),
        };
        caption(from, &said);
        if source == FactsFrom::Files && Button::link(&words.facts_forget).small().show(from).clicked() {
            let memory = MemoryPlan { facts: None, ..plan.clone() };
            out.push(Command::Edit(Edit::PutMemory(Box::new(memory))));
        }
        read.add_space(20.0);
        if Button::secondary(&text.brief.import).icon(icons::FILE).small().show(read).clicked() {
            out.push(Command::Show(Layer::ImportModel));
        }
    });
    let typed = name.trim().to_lowercase();
    let catalogue = Catalogue::builtin();
    if !typed.is_empty() && plan.facts.is_none() && catalogue.find(&typed).is_none() {
        let matches = catalogue.rows().iter().filter(|row| row.model.to_lowercase().contains(&typed)).take(OFFERED);
        ui.horizontal_wrapped(|ui| {
            for row in matches {
                if Button::link(&row.model).small().hover(&row.origin).show(ui).clicked() {
                    let mut chosen = memory::offer::with_facts(brief, row);
                    chosen.model.name.clone_from(&row.model);
                    out.push(Command::Edit(Edit::PutBrief(Box::new(chosen))));
                    name.clone_from(&brief.model.name);
                }
            }
        });
    }
    if name != brief.model.name {
        let model = crate::domain::brief::Model { name, ..brief.model.clone() };
        out.push(Command::Edit(Edit::PutBrief(Box::new(Brief { model, ..brief.clone() }))));
    }
}

/// The settings of the chosen work.
pub(super) fn inputs_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let mut brief = project.plan.brief.clone();
    let mut plan = project.plan.memory.clone();
    Card::new().show(ui, |ui| match plan.work {
        MemoryWork::Inference => serving_ui(ui, text, &mut brief, &mut plan),
        MemoryWork::Images => images_ui(ui, text, &mut plan),
        work => training_ui(ui, text, &mut plan, work),
    });
    if brief != project.plan.brief {
        out.push(Command::Edit(Edit::PutBrief(Box::new(brief))));
    }
    if plan != project.plan.memory {
        out.push(Command::Edit(Edit::PutMemory(Box::new(plan))));
    }
}

fn serving_ui(ui: &mut Ui, text: &Text, brief: &mut Brief, plan: &mut MemoryPlan) {
    let words = &text.memory;
    let t = tokens(ui);
    columns(ui, t.space.m, [1.0, 1.0, 1.0, 1.0, 1.2], |[context, kv, engine, version, in_flight]| {
        Field::new("memory context", &words.context).unit(&words.tokens).whole32(
            context,
            text,
            1..=100_000_000,
            &mut brief.context_tokens,
        );
        let mut choices = vec![(None, words.kv_default.as_str())];
        choices.extend(Precision::ALL.iter().map(|precision| (Some(*precision), precision.name())));
        Field::new("memory kv", &words.kv_precision).choice(kv, &choices, &mut brief.kv_precision);
        let engines = EngineKind::ALL.map(|engine| (engine, engine_name(engine)));
        Field::new("memory engine", &words.engine).choice(engine, &engines, &mut plan.engine);
        Field::new("memory version", &words.engine_version).hint(&words.newest).text(version, &mut plan.engine_version);
        caption(in_flight, &words.in_flight);
        match memory::in_flight_at_peak(brief) {
            Some(n) => {
                in_flight.label(Font::FigureM.rich(format::count(u64::from(n))));
            }
            None => {
                small(in_flight, &words.in_flight_unknown);
            }
        }
    });
    ui.add_space(t.space.s);
    columns(ui, t.space.m, [1.0, 1.0, 1.0, 1.0, 1.2], |[quant, share, sequences, batched, headroom]| {
        let (facts, _) = memory::offer::facts_of(brief, plan);
        let guess = scheme_of(brief, plan, &facts);
        let wrong = (!plan.quantisation.trim().is_empty() && guess.is_guess).then(|| words.quantisation_wrong.clone());
        let hint =
            brief.precision.map_or_else(|| words.as_the_checkpoint.clone(), |precision| precision.name().to_owned());
        Field::new("memory quantisation", &words.quantisation)
            .hint(&hint)
            .error(wrong)
            .text(quant, &mut plan.quantisation);
        Field::new("memory utilisation", &words.utilisation).hint(&words.engine_default).number(
            share,
            text,
            0.01..=1.0,
            &mut plan.utilisation,
        );
        Field::new("memory sequences", &words.max_sequences).hint(&words.engine_default).whole32(
            sequences,
            text,
            1..=1_000_000,
            &mut plan.max_sequences,
        );
        Field::new("memory batched", &words.max_batched).hint(&words.engine_default).whole32(
            batched,
            text,
            1..=10_000_000,
            &mut plan.max_batched_tokens,
        );
        headroom_ui(headroom, text, plan);
    });
    let mut eager = plan.eager.unwrap_or(false);
    ui.add_space(t.space.xs);
    if ui.checkbox(&mut eager, &words.eager).changed() {
        plan.eager = eager.then_some(true);
    }
}

fn headroom_ui(ui: &mut Ui, text: &Text, plan: &mut MemoryPlan) {
    let default = format::fixed(memory::plan::DEFAULT_HEADROOM_GIB, 1);
    Field::new("memory headroom", &text.memory.headroom).unit("GiB").hint(&default).number(
        ui,
        text,
        0.0..=1000.0,
        &mut plan.headroom_gib,
    );
}

/// A whole number that is always there.
fn whole(ui: &mut Ui, text: &Text, salt: &str, label: &str, most: u32, value: &mut u32) {
    let mut typed = Some(*value);
    Field::new(salt, label).whole32(ui, text, 1..=most, &mut typed);
    *value = typed.unwrap_or(*value);
}

fn training_ui(ui: &mut Ui, text: &Text, plan: &mut MemoryPlan, work: MemoryWork) {
    let words = &text.memory;
    let t = tokens(ui);
    columns(ui, t.space.m, [1.0, 1.0, 1.0, 1.2, 1.0], |[seq, batch, rank, optimizer, sharding]| {
        whole(seq, text, "memory seq", &words.seq_len, 10_000_000, &mut plan.training.seq_len);
        whole(batch, text, "memory micro batch", &words.micro_batch, 65_536, &mut plan.training.micro_batch);
        if work == MemoryWork::Full {
            caption(rank, &words.rank);
            small(rank, &words.rank_none);
        } else {
            whole(rank, text, "memory rank", &words.rank, 65_536, &mut plan.training.rank);
        }
        Field::new("memory optimizer", &words.optimizer).choice(
            optimizer,
            &Optimizer::OFFERED,
            &mut plan.training.optimizer,
        );
        let ways =
            Sharding::OFFERED.map(|(way, name)| (way, if name.is_empty() { words.not_split.as_str() } else { name }));
        Field::new("memory sharding", &words.sharding).choice(sharding, &ways, &mut plan.training.sharding);
    });
    ui.add_space(t.space.s);
    columns(ui, t.space.m, [1.0, 1.0, 1.0], |[headroom, checkpointing, master]| {
        headroom_ui(headroom, text, plan);
        checkpointing.add_space(22.0);
        checkpointing.checkbox(&mut plan.training.checkpointing, &words.checkpointing);
        master.add_space(22.0);
        master.checkbox(&mut plan.training.master_fp32, &words.master_fp32);
    });
}

fn images_ui(ui: &mut Ui, text: &Text, plan: &mut MemoryPlan) {
    let words = &text.memory;
    let t = tokens(ui);
    let families = image::family_names();
    columns(ui, t.space.m, [1.4, 1.0, 1.0, 1.0, 1.4], |[family, width, height, batch, offload]| {
        let mut choices = vec![(String::new(), words.choose_family.as_str())];
        choices.extend(families.iter().map(|name| ((*name).to_owned(), *name)));
        Field::new("memory family", &words.image_family).choice(family, &choices, &mut plan.images.family);
        whole(width, text, "memory width", &words.image_width, 65_536, &mut plan.images.width);
        whole(height, text, "memory height", &words.image_height, 65_536, &mut plan.images.height);
        whole(batch, text, "memory images", &words.image_batch, 65_536, &mut plan.images.batch);
        let ways = image::Offload::OFFERED.map(|way| (way, text.name(way.key())));
        Field::new("memory offload", &words.image_offload).choice(offload, &ways, &mut plan.images.offload);
    });
    ui.add_space(t.space.s);
    columns(ui, t.space.m, [1.0, 1.0, 1.0], |[headroom, sliced, tiled]| {
        headroom_ui(headroom, text, plan);
        sliced.add_space(22.0);
        sliced.checkbox(&mut plan.images.sliced, &words.image_sliced);
        tiled.add_space(22.0);
        tiled.checkbox(&mut plan.images.tiled, &words.image_tiled);
    });
    if plan.images.family.is_empty() {
        small(ui, &fill(&words.family_needed, &[("n", families.len().to_string())]));
    }
}

/// The name that an engine's makers write.
pub(super) const fn engine_name(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Vllm => "vLLM",
        EngineKind::Aphrodite => "Aphrodite",
        EngineKind::Sglang => "SGLang",
        EngineKind::LlamaCpp => "llama.cpp",
        EngineKind::Transformers => "Transformers",
    }
}

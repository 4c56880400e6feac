//! Presentation: five slides for a meeting, nothing under 18 points, left and right turn them, Esc leaves.

use egui::{Align, Key, Layout, Ui};

use crate::app::command::Command;
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::acceptance::judge::Standing;
use crate::domain::candidate::Candidate;
use crate::domain::compare::promises::Agreement;
use crate::domain::evidence::Kind;
use crate::domain::format;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{
    BadgeSize, Card, FigureUi, Mark, bar, columns, heading, icon_button, icons, mark, rule, split, swatch,
    verdict_badge,
};

use super::decision::sentence;

/// How many slides there are.
const SLIDES: usize = 5;

/// A candidate on a slide.
type Offer<'a> = (&'a Candidate, &'a CandidateView);

/// Draws the slide that is on.
pub fn presentation_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let id = egui::Id::unique("slide");
    let mut slide: usize = ui.data(|data| data.get_temp(id)).unwrap_or(0);
    let (back, on) = ui.input(|input| {
        (
            input.key_pressed(Key::ArrowLeft) || input.key_pressed(Key::PageUp),
            input.key_pressed(Key::ArrowRight) || input.key_pressed(Key::PageDown) || input.key_pressed(Key::Space),
        )
    });
    if back {
        slide = slide.saturating_sub(1);
    }
    if on {
        slide = (slide + 1).min(SLIDES - 1);
    }
    let t = tokens(ui);
    let offers: Vec<Offer<'_>> =
        state.derived.candidates.iter().filter_map(|view| Some((project.plan.candidate(&view.id)?, view))).collect();
    egui::Frame::new().fill(t.color.bg_canvas).inner_margin(egui::Margin::symmetric(56, 40)).show(ui, |ui| {
        ui.set_min_size(ui.available_size());
        ui.spacing_mut().item_spacing.y = t.space.s;
        let foot = 56.0;
        let area = egui::vec2(ui.available_width(), ui.available_height() - foot);
        ui.allocate_ui_with_layout(area, Layout::top_down(Align::Min), |ui| {
            ui.set_min_size(area);
            match slide {
                0 => work_ui(ui, project, text),
                1 => candidates_ui(ui, project, &offers, text, out),
                2 => promises_ui(ui, &offers, text),
                3 => acceptance_ui(ui, &offers, text),
                _ => decision_ui(ui, project, text),
            }
        });
        foot_ui(ui, state, project, &mut slide, text);
    });
    ui.data_mut(|data| {
        data.insert_temp(id, slide);
    });
}

fn foot_ui(ui: &mut Ui, state: &State, project: &Project, slide: &mut usize, text: &Text) {
    let words = &text.decision;
    let t = tokens(ui);
    let values = [("revision", project.revision.to_string()), ("date", state.now.format("%Y-%m-%d").to_string())];
    split(
        ui,
        |ui| {
            let mut line = fill(&words.slide_foot, &values);
            if project.plan.demonstration {
                line = format!("{} · {line}", text.kind(Kind::Practice));
            }
            ui.label(egui::RichText::new(line).size(18.0).color(t.color.text_secondary));
        },
        |ui| {
            if icon_button(ui, icons::CARET_RIGHT, &words.slide_next, *slide + 1 < SLIDES).clicked() {
                *slide += 1;
            }
            let count = [("n", (*slide + 1).to_string()), ("total", SLIDES.to_string())];
            ui.label(egui::RichText::new(fill(&words.slide_count, &count)).size(18.0).color(t.color.text_secondary));
            if icon_button(ui, icons::CARET_LEFT, &words.slide_previous, *slide > 0).clicked() {
                *slide -= 1;
            }
        },
    );
}

fn head_ui(ui: &mut Ui, title: &str, sub: &str) {
    let t = tokens(ui);
    heading(ui, Font::SlideTitle, title);
    if !sub.is_empty() {
        ui.label(Font::SlideBody.rich(sub).color(t.color.text_secondary));
    }
    ui.add_space(t.space.l);
}

/// A row of a slide: words left, value right.
fn fact_ui(ui: &mut Ui, name: &str, value: &str, failing: bool) {
    let t = tokens(ui);
    split(
        ui,
        |ui| {
            ui.label(Font::SlideBody.rich(name).color(t.color.text_secondary));
        },
        |ui| {
            let color = if failing { t.color.fail } else { t.color.text_primary };
            let strong = egui::FontId::new(21.0, Font::BodyBold.id().family);
            ui.add(egui::Label::new(egui::RichText::new(value).font(strong).color(color)).truncate());
        },
    );
    rule(ui);
}

fn work_ui(ui: &mut Ui, project: &Project, text: &Text) {
    let words = &text.decision;
    let brief = &project.plan.brief;
    let not_stated = || text.common.not_stated.clone();
    let title = if brief.outcome.is_empty() { &words.slide_work } else { &brief.outcome };
    head_ui(ui, title, &brief.model.name);
    let rate = |rate: Option<f64>| rate.map_or_else(not_stated, format::short);
    let whole = |n: Option<u32>| n.map_or_else(not_stated, |n| format::count(u64::from(n)));
    let ms = |ms: Option<f64>| ms.map_or_else(not_stated, |ms| format!("{} ms", format::short(ms)));
    let errors = brief.slo.error_share.map_or_else(not_stated, |share| format::percent(share, 1));
    let budget = brief.budget_month.map_or_else(not_stated, |money| {
        let exact = Exact::from(money);
        format!("{} {}", exact.show(), exact.currency.code())
    });
    Card::new().show(ui, |ui| {
        for (name, value) in [
            (words.slide_rate.as_str(), format!("{} · {}", rate(brief.mean_rate), rate(brief.peak_rate))),
            (&words.slide_lengths, format!("{} · {}", whole(brief.input_tokens.mean), whole(brief.output_tokens.mean))),
            (&words.slide_limits, format!("{} · {} · {errors}", ms(brief.slo.ttft_p95_ms), ms(brief.slo.itl_p95_ms))),
            (text.name("budget_month"), budget),
            (text.name("data_boundary"), stated(&brief.data_boundary, text)),
            (text.name("stop_rule"), stated(&brief.stop_rule, text)),
        ] {
            fact_ui(ui, name, &value, false);
        }
    });
}

fn stated(words: &str, text: &Text) -> String {
    if words.is_empty() { text.common.not_stated.clone() } else { words.to_owned() }
}

fn candidates_ui(ui: &mut Ui, project: &Project, offers: &[Offer<'_>], text: &Text, out: &mut Vec<Command>) {
    let words = &text.decision;
    let t = tokens(ui);
    head_ui(ui, &words.slide_candidates, &words.cost_thousand);
    let highest = offers
        .iter()
        .filter_map(|(_, view)| view.cost.per_thousand.as_ref().ok())
        .map(|figure| figure.value.to_f64())
        .fold(f64::MIN_POSITIVE, f64::max);
    columns(ui, t.space.xl, [1.0, 1.0, 1.0], |cells| {
        for (ui, (candidate, view)) in cells.iter_mut().zip(offers) {
            let is_decided = project.plan.decision.candidate.as_ref() == Some(&candidate.id);
            Card::new().selected(is_decided).show(ui, |ui| {
                name_ui(ui, candidate);
                let cost = &view.cost;
                let title = format!("{}, {}", candidate.name, words.cost_thousand);
                let code = cost.per_thousand.as_ref().map_or("", |figure| figure.value.currency.code());
                let big = FigureUi::new(&title).font(Font::SlideFigure).unit(code).hide_mark();
                big.show(ui, text, &cost.per_thousand, |cost| cost.show_significant(4), out);
                ui.label(Font::SlideBody.rich(&words.slide_for_thousand).color(t.color.text_secondary));
                if let Ok(figure) = &cost.per_thousand {
                    let size = egui::vec2(ui.available_width(), 22.0);
                    let share = figure.value.to_f64() / highest;
                    bar(ui, size, share, t.series(candidate.series).color, &title);
                }
                rule(ui);
                let month = match &cost.month_total {
                    Ok(figure) => format!("{} {}", figure.value.show(), figure.value.currency.code()),
                    Err(gap) => text.gap(gap),
                };
                fact_ui(ui, &words.slide_month, &month, cost.over_budget.is_some());
                let carries = match &cost.carried {
                    Ok(carried) => format!("{} req/s", format::short(carried.capacity_per_sec.value)),
                    Err(gap) => text.gap(gap),
                };
                fact_ui(ui, &words.slide_carries, &carries, false);
                let (found, differs) = found_words(view, text);
                fact_ui(ui, &words.slide_as_promised, &found, differs);
                if let Some(overall) = &view.overall {
                    verdict_badge(ui, text, Mark::from(overall.worst), BadgeSize::Big);
                }
            });
        }
    });
}

fn name_ui(ui: &mut Ui, candidate: &Candidate) {
    let t = tokens(ui);
    ui.horizontal(|ui| {
        swatch(ui, candidate.series, &candidate.name);
        let strong = egui::FontId::new(24.0, Font::BodyBold.id().family);
        ui.label(egui::RichText::new(&candidate.name).font(strong));
    });
    ui.label(egui::RichText::new(&candidate.short).size(18.0).color(t.color.text_secondary));
}

/// "yes", "no, 2 differ", "not known"; and whether something differs.
fn found_words(view: &CandidateView, text: &Text) -> (String, bool) {
    let words = &text.decision;
    let n = view.n_mismatches();
    if view.promises.iter().all(|row| row.evidence.is_empty()) {
        (words.slide_not_known.clone(), false)
    } else if n == 0 {
        (words.slide_yes.clone(), false)
    } else {
        (fill(&words.slide_no, &[("n", n.to_string())]), true)
    }
}

fn promises_ui(ui: &mut Ui, offers: &[Offer<'_>], text: &Text) {
    let words = &text.decision;
    let t = tokens(ui);
    head_ui(ui, &words.slide_promises, "");
    columns(ui, t.space.xl, [1.0, 1.0, 1.0], |cells| {
        for (ui, (candidate, view)) in cells.iter_mut().zip(offers) {
            Card::new().show(ui, |ui| {
                name_ui(ui, candidate);
                rule(ui);
                for row in view.promises.iter().filter(|row| row.agreement == Agreement::Mismatch).take(5) {
                    let found = match &row.found {
                        Ok(found) => found.words(text).to_owned(),
                        Err(missing) => missing.words(text),
                    };
                    fact_ui(ui, text.name(row.field), &found, true);
                }
                let (found, differs) = found_words(view, text);
                if !differs {
                    fact_ui(ui, &words.slide_as_promised, &found, false);
                }
            });
        }
    });
}

fn acceptance_ui(ui: &mut Ui, offers: &[Offer<'_>], text: &Text) {
    let words = &text.decision;
    let t = tokens(ui);
    head_ui(ui, &words.slide_acceptance, &words.kinds);
    columns(ui, t.space.xl, [1.0, 1.0, 1.0], |cells| {
        for (ui, (candidate, view)) in cells.iter_mut().zip(offers) {
            Card::new().show(ui, |ui| {
                name_ui(ui, candidate);
                rule(ui);
                let Some(overall) = &view.overall else {
                    ui.label(Font::SlideBody.rich(&words.no_criteria));
                    return;
                };
                verdict_badge(ui, text, Mark::from(overall.worst), BadgeSize::Big);
                for standing in Standing::ALL.into_iter().rev() {
                    let n = overall.count(standing);
                    let shape = Mark::from(standing);
                    split(
                        ui,
                        |ui| {
                            mark(ui, shape, 18.0, shape.word(text));
                            ui.label(Font::SlideBody.rich(shape.word(text)));
                        },
                        |ui| {
                            ui.label(Font::SlideBody.rich(n.to_string()));
                        },
                    );
                }
            });
        }
    });
}

fn decision_ui(ui: &mut Ui, project: &Project, text: &Text) {
    let words = &text.decision;
    let t = tokens(ui);
    let decision = &project.plan.decision;
    head_ui(ui, &sentence(project, text), &decision.owner);
    Card::new().show(ui, |ui| {
        for reason in &decision.reasons {
            ui.label(Font::SlideBody.rich(format!("· {reason}")));
            ui.add_space(t.space.xs);
        }
        if !decision.condition.is_empty() {
            rule(ui);
            let due = decision.condition_due.map(|due| format!("{} {}", words.condition_due, due.format("%Y-%m-%d")));
            fact_ui(ui, &words.condition, &due.unwrap_or_default(), false);
            ui.label(Font::SlideBody.rich(&decision.condition));
        }
        if decision.reasons.is_empty() && decision.action.is_none() {
            ui.label(Font::SlideBody.rich(&words.slide_no_decision));
        }
    });
}

//! Steps, six figures, four plots, and whether the run is valid: of a running test or of a finished one.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::{Job, Project};
use crate::domain::brief::Slo;
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::format;
use crate::domain::load::{Arrivals, GpuSample, LoadPlan, Prompts, RunEnd, TokenSource, ValidityLimits};
use crate::domain::seen::Run;
use crate::domain::text::{Text, fill};
use crate::domain::timeline::LiveRow;
use crate::ui::theme::{Font, Line, tokens};
use crate::ui::widgets::{
    Card, Chart, ChartLine, ChartPoint, Column, Limit, Look, Mark, Table, caption, citation, columns, heading, mark,
    progress, small, split,
};

/// Samples a 95th percentile needs.
const P95_NEEDS: u64 = 200;

/// One condition of a valid run, as shown.
struct Condition {
    ok: bool,
    name: String,
    value: String,
}

/// What the panel draws.
struct Shown<'a> {
    plan: Option<&'a LoadPlan>,
    points: Vec<&'a StepPoint>,
    /// The step whose figures stand large.
    point: Option<&'a StepPoint>,
    /// Whether it still runs.
    is_live: bool,
    rows: &'a [LiveRow],
    gpu: &'a [GpuSample],
    slo: Slo,
    limits: ValidityLimits,
    lateness_p99_ms: Option<f64>,
    cpu_share: f64,
    conditions: Vec<Condition>,
    valid: bool,
    /// How it ended; of a running test nobody knows yet.
    ended: RunEnd,
}

/// The running test.
pub(super) fn live_ui(ui: &mut Ui, project: &Project, job: &Job, text: &Text, out: &mut Vec<Command>) {
    let plan = project.live_plan.as_ref();
    let limits = plan.map_or_else(ValidityLimits::default, |plan| plan.validity);
    let slo = project.plan.brief.slo;
    let load = job.progress.load.as_deref();
    let lateness = load.and_then(|load| load.lateness_p99_ms);
    let cpu_share = load.map_or(0.0, |load| load.cpu_share);
    let mut conditions = vec![Condition {
        ok: cpu_share <= limits.cpu_share,
        name: text.name("cpu_share").to_owned(),
        value: format::percent(cpu_share, 0),
    }];
    if let Some(lateness) = lateness {
        conditions.push(Condition {
            ok: lateness <= limits.lateness_p99_ms,
            name: text.name("lateness_p99_ms").to_owned(),
            value: format!("{} ms", format::short(lateness)),
        });
    }
    let mut points: Vec<&StepPoint> = project.live_steps.iter().collect();
    let point = load.map(|load| &load.point);
    points.extend(point.filter(|point| points.iter().all(|done| done.step_idx != point.step_idx)));
    let valid = conditions.iter().all(|condition| condition.ok);
    let shown = Shown {
        plan,
        points,
        point,
        is_live: true,
        rows: load.map(|load| load.series.as_slice()).unwrap_or_default(),
        gpu: load.map(|load| load.gpu.as_slice()).unwrap_or_default(),
        slo,
        limits,
        lateness_p99_ms: lateness,
        cpu_share,
        conditions,
        valid,
        ended: RunEnd::Done,
    };
    shown.draw(ui, text, out);
}

/// A finished run.
pub(super) fn run_ui(ui: &mut Ui, run: &Run, text: &Text, out: &mut Vec<Command>) {
    let Some(load) = &run.record.load else { return };
    let ended = Condition {
        ok: run.ended == RunEnd::Done,
        name: text.load.ended_as_planned.clone(),
        value: if run.ended == RunEnd::Done { String::new() } else { text.run_end(run.ended).to_owned() },
    };
    let conditions = std::iter::once(ended)
        .chain(run.validity.iter().map(|item| Condition {
            ok: item.ok,
            name: text.name(item.name).to_owned(),
            value: match item.value {
                Some(value) if item.name.ends_with("share") => format::percent(value, 0),
                Some(value) if item.name.ends_with("_ms") => format!("{} ms", format::short(value)),
                Some(value) => format::short(value),
                None => text.load.not_measured.clone(),
            },
        }))
        .collect();
    let health = &load.client;
    let busy = health.wall_secs * f64::from(health.cores.max(1));
    let shown = Shown {
        plan: Some(&run.plan),
        points: run.points.iter().collect(),
        point: run.points.last(),
        is_live: false,
        rows: &run.timeline,
        gpu: &load.gpu_samples,
        slo: run.plan.slo,
        limits: run.plan.validity,
        lateness_p99_ms: health.lateness_p99_ms,
        cpu_share: if busy > 0.0 { health.cpu_secs / busy } else { 0.0 },
        conditions,
        valid: run.is_sound(),
        ended: run.ended,
    };
    shown.draw(ui, text, out);
    ui.add_space(tokens(ui).space.s);
    ui.horizontal_wrapped(|ui| {
        let prompts = match &run.plan.prompts {
            Prompts::Synthetic { input_tokens, output_tokens } => {
                format!("{} {input_tokens} → {output_tokens}", text.load.prompts_synthetic)
            }
            Prompts::Jsonl { name, .. } => name.clone(),
        };
        let values = [
            ("server", load.server.clone()),
            ("vantage", text.vantage(run.record.vantage).to_owned()),
            ("seed", run.plan.seed.to_string()),
            ("prompts", prompts),
        ];
        caption(ui, fill(&text.load.footer, &values).trim_start_matches(" · "));
        citation(ui, &run.id, out);
    });
}

impl Shown<'_> {
    fn draw(&self, ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
        let t = tokens(ui);
        self.chips(ui, text);
        ui.add_space(t.space.s);
        self.figures(ui, text);
        ui.add_space(t.space.m);
        columns(ui, t.space.m, [1.0, -316.0], |[left, right]| {
            self.plots(left, text, out);
            Card::new().tight().show(right, |ui| self.steps(ui, text));
            right.add_space(t.space.m);
            Card::new().show(right, |ui| self.validity(ui, text));
            right.add_space(t.space.m);
            Card::new().show(right, |ui| self.outcomes(ui, text));
        });
    }

    fn arrivals(&self) -> Arrivals {
        self.plan
            .map(|plan| plan.arrivals)
            .or_else(|| self.points.first().map(|point| point.arrivals))
            .unwrap_or(Arrivals::Concurrency)
    }

    fn unit<'t>(&self, text: &'t Text) -> &'t str {
        if self.arrivals() == Arrivals::Concurrency { &text.load.level_in_flight } else { &text.load.level_rate }
    }

    /// One chip a step: its level, and what came of it.
    fn chips(&self, ui: &mut Ui, text: &Text) {
        let t = tokens(ui);
        let levels: Vec<f64> = match self.plan {
            Some(plan) => plan.stages.iter().map(|stage| stage.level).collect(),
            None => self.points.iter().map(|point| point.level).collect(),
        };
        if levels.is_empty() {
            return;
        }
        // A ladder of a few steps is as wide as the figures below it; one or two steps are not blown up.
        let widest = if levels.len() > 3 { f32::INFINITY } else { 250.0 };
        #[allow(clippy::cast_precision_loss, reason = "a ladder has a few dozen steps")]
        let width =
            ((ui.available_width() - 6.0 * (levels.len() - 1) as f32) / levels.len() as f32).clamp(96.0, widest);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            for (step_idx, level) in levels.iter().enumerate() {
                let point = self.points.iter().copied().find(|point| point.step_idx == step_idx);
                let running = self.is_live && point.is_some_and(|point| point.provisional);
                ui.scope(|ui| {
                    ui.set_width(width);
                    ui.set_max_width(width);
                    Card::new().selected(running).min_height(82.0).show(ui, |ui| {
                        ui.set_width(width - 32.0);
                        ui.vertical(|ui| {
                            ui.horizontal(|ui| {
                                ui.spacing_mut().item_spacing.x = 5.0;
                                ui.label(Font::BodyBold.rich(level.to_string()));
                                caption(ui, self.unit(text));
                            });
                            self.chip_state(ui, point, text);
                        });
                    });
                });
            }
        });
        ui.add_space(t.space.xs);
    }

    fn chip_state(&self, ui: &mut Ui, point: Option<&StepPoint>, text: &Text) {
        let t = tokens(ui);
        match point {
            // The step in which the run was stopped or interrupted: what came of it is no measurement.
            Some(point) if point.provisional && !self.is_live => {
                ui.horizontal(|ui| {
                    let words = text.run_end(self.ended);
                    mark(ui, Mark::NotTested, t.size.verdict, words);
                    caption(ui, words);
                });
            }
            Some(point) if point.provisional => {
                let asked = point.counts.asked.max(point.counts.sent).max(1);
                let done = point.counts.completed + point.counts.failed + point.counts.rejected + point.counts.cut;
                let values = [("sent", done.to_string()), ("asked", asked.to_string())];
                let name = fill(&text.load.sent_of, &values);
                let width = ui.available_width();
                progress(ui, width, f64::from(done) / f64::from(asked), &name);
            }
            Some(point) => {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 5.0;
                    let p95 = point.ttft.and_then(|ttft| ttft.p95);
                    let shape = match (p95, self.slo.ttft_p95_ms) {
                        (Some(p95), Some(limit)) if p95 * 1e3 <= limit => Mark::Pass,
                        (Some(_), Some(_)) => Mark::Fail,
                        _ => Mark::NotTested,
                    };
                    mark(ui, shape, t.size.verdict, shape.word(text));
                    let words = match p95 {
                        Some(p95) => format!("p95 {}", format::latency(p95)),
                        None => few(point.ttft, text),
                    };
                    ui.add(egui::Label::new(Font::Caption.rich(words).color(t.color.text_secondary)).truncate());
                });
            }
            None => {
                ui.horizontal(|ui| {
                    // A step of a finished run that never began was not run; a running one still waits.
                    let words = if self.is_live { &text.load.waiting } else { &text.load.not_run };
                    mark(ui, Mark::NotTested, t.size.verdict, words);
                    caption(ui, words);
                });
            }
        }
    }

    fn figures(&self, ui: &mut Ui, text: &Text) {
        let words = &text.load;
        let t = tokens(ui);
        let point = self.point;
        let ms = |summary: Option<Summary>| summary.and_then(|summary| summary.p95).map(|p95| format::short(p95 * 1e3));
        let limit = |value: Option<f64>, unit: &str| match value {
            Some(value) => fill(&words.limit, &[("value", format!("{} {unit}", format::short(value)))]),
            None => words.no_limit.clone(),
        };
        let samples = |summary: Option<Summary>| {
            let n = summary.map_or(0, |summary| summary.n);
            fill(&words.samples, &[("n", format::count(n))])
        };
        let ttft = point.and_then(|point| point.ttft);
        let gap = point.and_then(|point| point.gap);
        let counts = point.map(|point| point.counts.clone()).unwrap_or_default();
        let finished = counts.completed + counts.failed + counts.rejected + counts.cut;
        let outcome = fill(
            &words.outcome_counts,
            &[
                ("failed", counts.failed.to_string()),
                ("rejected", counts.rejected.to_string()),
                ("cut", counts.cut.to_string()),
            ],
        );
        let itl_note = if point.is_some_and(|point| point.gap_not_measurable) {
            words.not_measurable.clone()
        } else {
            format!("{} · {}", limit(self.slo.itl_p95_ms, "ms"), samples(gap))
        };
        let rate = point.and_then(|point| point.offered_per_sec);
        let offered = rate.map_or_else(String::new, |rate| fill(&words.offered, &[("value", format::short(rate))]));
        let goodput = point.and_then(|point| point.goodput_per_sec).map(format::short);
        let in_flight = point.map(|point| point.peak_in_flight.to_string());
        let lateness = self.lateness_p99_ms.map(format::short);
        let lateness_note = format!(
            "{} · {}",
            fill(&words.limit, &[("value", format!("{} ms", format::short(self.limits.lateness_p99_ms)))]),
            fill(&words.cpu, &[("share", format::percent(self.cpu_share, 0))]),
        );
        let cells = [
            (
                &words.figure_ttft,
                ms(ttft),
                "ms",
                format!("{} · {}", limit(self.slo.ttft_p95_ms, "ms"), samples(ttft)),
                few(ttft, text),
            ),
            (&words.figure_itl, ms(gap), "ms", itl_note, few(gap, text)),
            (&words.figure_goodput, goodput, "req/s", offered, words.no_limit.clone()),
            (&words.figure_finished, Some(format::count(u64::from(finished))), "", outcome, String::new()),
            (&words.figure_in_flight, in_flight, "", String::new(), words.not_measured.clone()),
            (&words.figure_lateness, lateness, "ms", lateness_note, words.not_measured.clone()),
        ];
        columns(ui, t.space.s, [1.0; 6], |uis| {
            for (ui, (name, value, unit, note, missing)) in uis.iter_mut().zip(cells) {
                Card::new().min_height(104.0).show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 2.0;
                    ui.add(egui::Label::new(Font::Caption.rich(name).color(t.color.text_secondary)).truncate());
                    match value {
                        Some(value) => {
                            ui.horizontal(|ui| {
                                ui.spacing_mut().item_spacing.x = 5.0;
                                ui.label(Font::FigureM.rich(value));
                                caption(ui, unit);
                            });
                        }
                        None => {
                            small(ui, &missing);
                        }
                    }
                    ui.add(egui::Label::new(Font::Caption.rich(&note).color(t.color.text_muted)).truncate())
                        .on_hover_text(&note);
                });
            }
        });
    }

    fn plots(&self, ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
        let words = &text.load;
        let t = tokens(ui);
        let plain = |name: &str, color, line, value: &dyn Fn(&LiveRow) -> Option<f64>| {
            let points = self.rows.iter().filter_map(|row| Some(ChartPoint::new(row.at_secs, value(row)?))).collect();
            ChartLine::new(name, Look::Plain(color, line), points).without_markers()
        };
        let (first, second) = (t.color.accent, t.color.text_secondary);
        let ttft = [
            plain(&words.line_p95, first, Line::Solid, &|row| row.ttft_p95_ms),
            plain(&words.line_p50, second, Line::Dashed(9.0), &|row| row.ttft_p50_ms),
        ];
        let rate = [
            plain(&words.line_achieved, first, Line::Solid, &|row| Some(row.achieved_per_sec)),
            plain(&words.line_offered, second, Line::Dashed(9.0), &|row| row.offered_per_sec),
        ];
        let in_flight = [plain(&words.line_in_flight, first, Line::Solid, &|row| Some(f64::from(row.in_flight)))];
        let lateness = [plain(&words.line_lateness, first, Line::Solid, &|row| row.lateness_p99_ms)];
        let slo: Vec<Limit> = self
            .slo
            .ttft_p95_ms
            .map(|y| Limit {
                y,
                words: fill(&words.slo_line, &[("value", format!("{} ms", format::short(y)))]),
                soft: false,
            })
            .into_iter()
            .collect();
        let latest = [Limit {
            y: self.limits.lateness_p99_ms,
            words: fill(
                &words.invalid_above,
                &[("value", format!("{} ms", format::short(self.limits.lateness_p99_ms)))],
            ),
            soft: true,
        }];
        let height = 176.0;
        let mut chart = |ui: &mut Ui, salt: &str, title: &str, unit: &str, lines: &[ChartLine], limits: &[Limit]| {
            Card::new().show(ui, |ui| {
                Chart::new(salt, title, unit, &words.x_secs, lines).limits(limits).height(height).show(ui, text, out);
            });
        };
        columns(ui, t.space.m, [1.0, 1.0], |[left, right]| {
            chart(left, "load ttft", &words.plot_ttft, "ms", &ttft, &slo);
            chart(right, "load rate", &words.plot_rate, "req/s", &rate, &[]);
        });
        ui.add_space(t.space.m);
        let memory = self.memory_lines(text);
        columns(ui, t.space.m, [1.0, 1.0], |[left, right]| {
            if memory.is_empty() {
                chart(left, "load in flight", &words.plot_in_flight, "", &in_flight, &[]);
            } else {
                chart(left, "load memory", &words.plot_memory, "GiB", &memory, &[]);
            }
            chart(right, "load lateness", &words.plot_lateness, "ms", &lateness, &latest);
        });
    }

    fn memory_lines(&self, text: &Text) -> Vec<ChartLine> {
        let mut gpus: std::collections::BTreeMap<u32, Vec<ChartPoint>> = std::collections::BTreeMap::new();
        for sample in self.gpu {
            if let Some(memory) = sample.memory_mib {
                gpus.entry(sample.gpu_idx).or_default().push(ChartPoint::new(sample.at_secs, memory / 1024.0));
            }
        }
        gpus.into_iter()
            .map(|(gpu_idx, points)| {
                let name = fill(&text.load.line_gpu, &[("gpu", gpu_idx.to_string())]);
                let series = u8::try_from(gpu_idx).unwrap_or(u8::MAX);
                ChartLine::new(name, Look::Series(series), points).without_markers()
            })
            .collect()
    }

    fn steps(&self, ui: &mut Ui, text: &Text) {
        let words = &text.load;
        let heads = [
            Column::left(self.unit(text), 0.8),
            Column::right(&words.figure_goodput, 1.0),
            Column::right("TTFT p50", 1.0),
            Column::right("p95", 0.9),
            Column::right("ITL p95", 0.9),
        ];
        let ms = |secs: Option<f64>, summary: Option<Summary>| match secs {
            Some(secs) => (format::short(secs * 1e3), String::new()),
            None => ("–".to_owned(), few(summary, text)),
        };
        Table::new("load steps", &heads).show(ui, self.points.len(), |row| {
            let Some(point) = self.points.get(row.idx) else { return };
            let level = if point.provisional { format!("{} ○", point.level) } else { point.level.to_string() };
            row.cell(&level, |ui| {
                ui.label(Font::Body.rich(point.level.to_string()));
                if point.provisional && !self.is_live {
                    mark(ui, Mark::NotTested, 10.0, text.run_end(self.ended));
                } else if point.provisional {
                    mark(ui, Mark::Running, 10.0, &text.load.provisional);
                }
            });
            match point.goodput_per_sec {
                Some(goodput) => row.text(&format::short(goodput)),
                None => row.muted(&words.no_limit),
            }
            let cells = [
                ms(point.ttft.and_then(|ttft| ttft.p50), point.ttft),
                ms(point.ttft.and_then(|ttft| ttft.p95), point.ttft),
                ms(point.gap.and_then(|gap| gap.p95), point.gap),
            ];
            for (value, why) in cells {
                if why.is_empty() {
                    row.text(&value);
                } else {
                    row.cell(&why, |ui| {
                        let color = tokens(ui).color.text_muted;
                        ui.add(egui::Label::new(Font::Caption.rich(&why).color(color)).truncate()).on_hover_text(&why);
                    });
                }
            }
        });
    }

    fn validity(&self, ui: &mut Ui, text: &Text) {
        let words = &text.load;
        let t = tokens(ui);
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &words.is_valid);
            },
            |ui| {
                let answer = if self.valid { &words.valid_yes } else { &words.valid_no };
                if self.is_live {
                    let values = [("first", words.so_far.clone()), ("second", answer.to_owned())];
                    caption(ui, &fill(&text.common.two_sentences, &values))
                } else {
                    caption(ui, answer)
                }
            },
        );
        for condition in &self.conditions {
            let shape = if condition.ok { Mark::Pass } else { Mark::Fail };
            split(
                ui,
                |ui| {
                    mark(ui, shape, t.size.verdict, shape.word(text));
                    small(ui, &condition.name);
                },
                |ui| caption(ui, &condition.value),
            );
        }
        let source = self.points.iter().map(|point| point.token_source).max();
        if let Some(source) = source {
            let word = text.token_source(source);
            let shape = if source == TokenSource::Usage { Mark::Pass } else { Mark::Inconclusive };
            split(
                ui,
                |ui| {
                    mark(ui, shape, t.size.verdict, shape.word(text));
                    small(ui, &fill(&words.tokens_by, &[("source", word.to_owned())]));
                },
                |_ui| {},
            );
        }
    }

    /// Every cause with its count over all steps.
    fn outcomes(&self, ui: &mut Ui, text: &Text) {
        heading(ui, Font::BodyBold, &text.load.outcomes);
        let mut causes: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
        for (cause, n) in self.points.iter().flat_map(|point| &point.counts.causes) {
            *causes.entry(cause.as_str()).or_default() += u64::from(*n);
        }
        for (cause, n) in causes {
            let words = text.cause(cause);
            split(
                ui,
                |ui| {
                    small(ui, &words);
                },
                |ui| {
                    ui.label(Font::Small.rich(format::count(n)));
                },
            );
        }
    }
}

/// How many samples there are of how many that a 95th percentile needs.
fn few(summary: Option<Summary>, text: &Text) -> String {
    let have = summary.map_or(0, |summary| summary.n);
    fill(&text.load.too_few, &[("have", format::count(have)), ("need", format::count(P95_NEEDS))])
}

//! The dialog in which a load run is set up: endpoint, prompts, arrivals, ladder, limits.

use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::{Project, State};
use crate::domain::compare::month::hour_cost;
use crate::domain::format;
use crate::domain::host::Reach;
use crate::domain::ids::HostId;
use crate::domain::load::{Api, Arrivals, Prompts, StagePlan, Until};
use crate::domain::money::ratio_of_f64;
use crate::domain::secret::Secret;
use crate::domain::text::{Text, fill};
use crate::engine::event::Picking;
use crate::project::edit::Edit;
use crate::project::plan::{LoadSetup, Route};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Field, caption, columns, dialog, dialog_buttons, rule, segmented};

/// More steps than this is a typing slip.
const MOST_STEPS: usize = 50;

/// What is typed; widget memory until it is kept.
#[derive(Debug, Clone)]
struct Draft {
    setup: LoadSetup,
    levels: String,
    key: String,
}

/// How the API key is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    None,
    Variable,
    Asked,
}

fn draft_of(setup: LoadSetup) -> Draft {
    let levels = setup.plan.stages.iter().map(|stage| stage.level.to_string()).collect::<Vec<_>>().join(" ");
    Draft { setup, levels, key: String::new() }
}

/// Draws the dialog.
pub fn setup_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.load;
    let t = tokens(ui);
    let id = egui::Id::unique("load setup draft");
    let candidate = state.view.candidate.clone().or_else(|| project.plan.candidates.first().map(|c| c.id.clone()));
    let mut draft: Draft = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| {
        draft_of(project.plan.load.clone().unwrap_or_else(|| LoadSetup::from_brief(&project.plan, candidate.clone())))
    });
    let mut close = false;
    dialog(ui, "load setup", &words.setup_title, out, |ui, out| {
        endpoint_ui(ui, state, project, &mut draft, text);
        rule(ui);
        prompts_ui(ui, state, &mut draft, text, out);
        rule(ui);
        ladder_ui(ui, &mut draft, text);
        rule(ui);
        limits_ui(ui, project, &mut draft, text);
        ui.add_space(t.space.s);
        caption(ui, &planned(project, &draft.setup, text));
        let levels = parse_levels(&draft.levels);
        let ready = levels.is_some();
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.start_now).enabled(ready, &words.levels_wrong).show(ui).clicked() {
                let key = (draft.setup.ask_api_key && !draft.key.is_empty()).then(|| Secret::new(draft.key.clone()));
                out.push(Command::Edit(Edit::PutLoad(Box::new(draft.setup.clone()))));
                out.push(Command::CloseTop);
                out.push(Command::StartLoad(key));
                close = true;
            }
            if Button::secondary(&words.save_setup).enabled(ready, &words.levels_wrong).show(ui).clicked() {
                out.push(Command::Edit(Edit::PutLoad(Box::new(draft.setup.clone()))));
                out.push(Command::CloseTop);
                close = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
                close = true;
            }
            if Button::link(&words.from_brief).show(ui).clicked() {
                draft = draft_of(LoadSetup::from_brief(&project.plan, draft.setup.candidate.clone()));
            }
        });
    });
    let closed = close || !state.view.layers.contains(&Layer::LoadSetup);
    ui.data_mut(|data| {
        if closed {
            data.remove::<Draft>(id);
        } else {
            data.insert_temp(id, draft);
        }
    });
}

fn endpoint_ui(ui: &mut Ui, state: &State, project: &Project, draft: &mut Draft, text: &Text) {
    let words = &text.load;
    let t = tokens(ui);
    let setup = &mut draft.setup;
    let mut candidates = vec![(None, words.no_candidate.as_str())];
    candidates.extend(project.plan.candidates.iter().map(|c| (Some(c.id.clone()), c.name.as_str())));
    Field::new("load candidate", &words.candidate).choice(ui, &candidates, &mut setup.candidate);
    ui.add_space(t.space.xs);
    ui.label(Font::Small.rich(&words.route));
    let routes =
        [(0_u8, words.route_direct.as_str()), (1, words.route_tunnel.as_str()), (2, words.route_practice.as_str())];
    let now = match setup.route {
        Route::Direct => 0,
        Route::Tunnel { .. } => 1,
        Route::Practice => 2,
    };
    let hosts: Vec<(HostId, &str)> = project
        .plan
        .hosts
        .iter()
        .filter(|host| !matches!(host.reach, Reach::Pasted))
        .map(|host| (host.id.clone(), host.name.as_str()))
        .collect();
    match segmented(ui, &routes, now) {
        Some(0) => setup.route = Route::Direct,
        Some(1) => {
            let chosen = state.view.host.clone().filter(|id| hosts.iter().any(|(host, _)| host == id));
            if let Some(host) = chosen.or_else(|| hosts.first().map(|(host, _)| host.clone())) {
                setup.route = Route::Tunnel { host, port: 8000 };
            }
        }
        Some(_) => setup.route = Route::Practice,
        None => {}
    }
    if hosts.is_empty() {
        caption(ui, &format!("{}: {}", words.route_tunnel, words.no_host));
    }
    match &mut setup.route {
        Route::Direct => {
            Field::new("load url", &words.base_url).text(ui, &mut setup.plan.base_url);
        }
        Route::Tunnel { host, port } => {
            columns(ui, t.space.s, [1.0, -140.0], |[left, right]| {
                Field::new("load host", &words.host).choice(left, &hosts, host);
                let mut wide = Some(u32::from(*port));
                if Field::new("load port", &words.port).whole32(right, text, 1..=65_535, &mut wide)
                    && let Some(chosen) = wide.and_then(|wide| u16::try_from(wide).ok())
                {
                    *port = chosen;
                }
            });
            setup.plan.base_url = format!("http://127.0.0.1:{port}");
        }
        Route::Practice => {
            caption(ui, &words.route_practice_note);
        }
    }
    columns(ui, t.space.s, [1.0, -180.0], |[left, right]| {
        Field::new("load model", &words.model).text(left, &mut setup.plan.model);
        let apis = [(Api::Chat, words.api_chat.as_str()), (Api::Completions, words.api_completions.as_str())];
        Field::new("load api", &words.api).choice(right, &apis, &mut setup.plan.api);
    });
    key_ui(ui, draft, text);
}

fn key_ui(ui: &mut Ui, draft: &mut Draft, text: &Text) {
    let words = &text.load;
    let setup = &mut draft.setup;
    let now = match (&setup.plan.api_key_env, setup.ask_api_key) {
        (_, true) => Key::Asked,
        (Some(_), false) => Key::Variable,
        (None, false) => Key::None,
    };
    ui.label(Font::Small.rich(&words.api_key));
    let keys = [
        (Key::None, words.api_key_none.as_str()),
        (Key::Variable, words.api_key_env.as_str()),
        (Key::Asked, words.api_key_ask.as_str()),
    ];
    if let Some(chosen) = segmented(ui, &keys, now) {
        setup.ask_api_key = chosen == Key::Asked;
        setup.plan.api_key_env = (chosen == Key::Variable).then(|| "OPENAI_API_KEY".to_owned());
    }
    if let Some(name) = &mut setup.plan.api_key_env {
        Field::new("load key env", &words.api_key_env_name).text(ui, name);
    }
    if setup.ask_api_key {
        Field::new("load key", &words.api_key_now).secret(ui, &mut draft.key);
        caption(ui, &words.api_key_never);
    }
}

fn prompts_ui(ui: &mut Ui, state: &State, draft: &mut Draft, text: &Text, out: &mut Vec<Command>) {
    let words = &text.load;
    let t = tokens(ui);
    let setup = &mut draft.setup;
    ui.label(Font::Small.rich(&words.prompts));
    let is_file = matches!(setup.plan.prompts, Prompts::Jsonl { .. });
    let output = match setup.plan.prompts {
        Prompts::Synthetic { output_tokens, .. } | Prompts::Jsonl { output_tokens, .. } => output_tokens,
    };
    let kinds = [(false, words.prompts_synthetic.as_str()), (true, words.prompts_file.as_str())];
    match segmented(ui, &kinds, is_file) {
        Some(true) => {
            setup.plan.prompts =
                Prompts::Jsonl { name: String::new(), sha256: String::new(), n_prompts: 0, output_tokens: output };
        }
        Some(false) => {
            setup.plan.prompts = Prompts::Synthetic { input_tokens: 512, output_tokens: output };
            setup.prompts_path.clear();
        }
        None => {}
    }
    if let Some(path) = state.picked.get(&Picking::Prompts.into()) {
        setup.prompts_path = path.display().to_string();
        out.push(Command::TakePicked(Picking::Prompts));
    }
    match &mut setup.plan.prompts {
        Prompts::Synthetic { input_tokens, output_tokens } => columns(ui, t.space.s, [1.0, 1.0], |[left, right]| {
            let (mut input, mut output) = (Some(*input_tokens), Some(*output_tokens));
            Field::new("load in", &words.input_tokens).whole32(left, text, 1..=1_000_000, &mut input);
            Field::new("load out", &words.output_tokens).whole32(right, text, 1..=1_000_000, &mut output);
            (*input_tokens, *output_tokens) = (input.unwrap_or(*input_tokens), output.unwrap_or(*output_tokens));
        }),
        Prompts::Jsonl { output_tokens, .. } => {
            columns(ui, t.space.s, [1.0, -110.0, -140.0], |[path, browse, length]| {
                Field::new("load prompts", &words.prompts_path).text(path, &mut setup.prompts_path);
                browse.add_space(22.0);
                if Button::secondary(&text.common.browse).show(browse).clicked() {
                    out.push(Command::Pick(Picking::Prompts));
                }
                let mut output = Some(*output_tokens);
                Field::new("load out", &words.output_tokens).whole32(length, text, 1..=1_000_000, &mut output);
                *output_tokens = output.unwrap_or(*output_tokens);
            });
        }
    }
}

/// Levels as typed: numbers above zero with blanks or commas between them.
fn parse_levels(typed: &str) -> Option<Vec<f64>> {
    let levels: Option<Vec<f64>> = typed
        .split(|c: char| c.is_whitespace() || c == ',' || c == '，' || c == '、')
        .filter(|word| !word.is_empty())
        .map(|word| word.parse::<f64>().ok().filter(|level| level.is_finite() && *level > 0.0 && *level <= 1e6))
        .collect();
    levels.filter(|levels| !levels.is_empty() && levels.len() <= MOST_STEPS)
}

fn ladder_ui(ui: &mut Ui, draft: &mut Draft, text: &Text) {
    let words = &text.load;
    let t = tokens(ui);
    let plan = &mut draft.setup.plan;
    let kinds = [
        (Arrivals::Concurrency, words.arrivals_concurrency.as_str()),
        (Arrivals::Constant, words.arrivals_constant.as_str()),
        (Arrivals::Poisson, words.arrivals_poisson.as_str()),
    ];
    ui.label(Font::Small.rich(&words.arrivals));
    if let Some(arrivals) = segmented(ui, &kinds, plan.arrivals) {
        plan.arrivals = arrivals;
    }
    let unit = if plan.arrivals == Arrivals::Concurrency { &words.level_in_flight } else { &words.level_rate };
    let levels = parse_levels(&draft.levels);
    let error = levels.is_none().then(|| words.levels_wrong.clone());
    Field::new("load levels", &words.levels).unit(unit).error(error).text(ui, &mut draft.levels);
    let mut until = plan.stages.first().map_or(Until::Requests(240), |stage| stage.until);
    ui.label(Font::Small.rich(&words.until));
    let by = [(false, words.until_requests.as_str()), (true, words.until_secs.as_str())];
    match segmented(ui, &by, matches!(until, Until::Secs(_))) {
        Some(true) => until = Until::Secs(60.0),
        Some(false) => until = Until::Requests(240),
        None => {}
    }
    columns(ui, t.space.s, [1.0, 1.0, 1.0], |[count, warmup, seed]| {
        match &mut until {
            Until::Requests(requests) => {
                let mut n = Some(*requests);
                Field::new("load requests", &words.requests).whole32(count, text, 1..=10_000_000, &mut n);
                *requests = n.unwrap_or(*requests);
            }
            Until::Secs(secs) => {
                let mut value = Some(*secs);
                Field::new("load secs", &words.secs).unit("s").number(count, text, 1.0..=86_400.0, &mut value);
                *secs = value.unwrap_or(*secs);
            }
        }
        let mut n = Some(plan.warmup_requests);
        Field::new("load warmup", &words.warmup).whole32(warmup, text, 0..=100_000, &mut n);
        plan.warmup_requests = n.unwrap_or(plan.warmup_requests);
        let mut n = Some(plan.seed);
        Field::new("load seed", &words.seed).whole(seed, text, 0..=u64::MAX, &mut n);
        plan.seed = n.unwrap_or(plan.seed);
    });
    if let Some(levels) = levels {
        plan.stages = levels.into_iter().map(|level| StagePlan { level, until }).collect();
    }
}

fn limits_ui(ui: &mut Ui, project: &Project, draft: &mut Draft, text: &Text) {
    let words = &text.load;
    let t = tokens(ui);
    let plan = &mut draft.setup.plan;
    ui.label(Font::Subhead.rich(&words.timeouts));
    columns(ui, t.space.s, [1.0; 4], |[connect, first, gap, total]| {
        let timeouts = &mut plan.timeouts;
        let fields = [
            (connect, "load connect", &words.connect_secs, &mut timeouts.connect_secs),
            (first, "load first", &words.first_byte_secs, &mut timeouts.first_byte_secs),
            (gap, "load gap", &words.gap_secs, &mut timeouts.gap_secs),
            (total, "load total", &words.total_secs, &mut timeouts.total_secs),
        ];
        for (ui, salt, label, secs) in fields {
            let mut value = Some(*secs);
            Field::new(salt, label).unit(&words.seconds_unit).number(ui, text, 0.1..=86_400.0, &mut value);
            *secs = value.unwrap_or(*secs);
        }
    });
    ui.label(Font::Subhead.rich(&words.validity));
    columns(ui, t.space.s, [1.0; 3], |[lateness, lag, cpu]| {
        let limits = &mut plan.validity;
        let mut cpu_percent = limits.cpu_share * 100.0;
        let fields = [
            (lateness, "load lateness", &words.lateness_limit, "ms", 10_000.0, &mut limits.lateness_p99_ms),
            (lag, "load lag", &words.lag_limit, "ms", 10_000.0, &mut limits.loop_lag_p99_ms),
            (cpu, "load cpu", &words.cpu_limit, "%", 100.0, &mut cpu_percent),
        ];
        for (ui, salt, label, unit, most, limit) in fields {
            let mut value = Some(*limit);
            Field::new(salt, label).unit(unit).number(ui, text, 0.1..=most, &mut value);
            *limit = value.unwrap_or(*limit);
        }
        limits.cpu_share = cpu_percent / 100.0;
    });
    let mut hosts = vec![(None, words.sample_none.as_str())];
    hosts.extend(
        project
            .plan
            .hosts
            .iter()
            .filter(|host| !matches!(host.reach, Reach::Pasted))
            .map(|host| (Some(host.id.clone()), host.name.as_str())),
    );
    Field::new("load sample", &words.sample_on).choice(ui, &hosts, &mut draft.setup.sample_on);
}

/// How long it sends, and what that costs where the candidate states an hourly price.
fn planned(project: &Project, setup: &LoadSetup, text: &Text) -> String {
    let words = &text.load;
    let Some(secs) = setup.plan.sending_secs() else { return words.planned_unknown.clone() };
    let time = format::clock(secs);
    let candidate = setup.candidate.as_ref().and_then(|id| project.plan.candidate(id));
    let hourly = candidate.and_then(|candidate| hour_cost(&candidate.billing));
    match (hourly, ratio_of_f64(secs / 3600.0)) {
        (Some(hourly), Some(hours)) if setup.route != Route::Practice => {
            let cost = hourly.times(&hours);
            let cost = format!("{} {}", cost.show(), cost.currency.code());
            fill(&words.planned_cost, &[("time", time), ("cost", cost)])
        }
        _ => fill(&words.planned, &[("time", time)]),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_levels;

    #[test]
    fn levels_are_numbers_above_zero() {
        for (typed, want) in [
            ("2 4 6.5", Some(vec![2.0, 4.0, 6.5])),
            ("2, 4、8", Some(vec![2.0, 4.0, 8.0])),
            ("", None),
            ("2 x", None),
            ("0", None),
            ("-1", None),
            ("inf", None),
        ] {
            assert_eq!(parse_levels(typed), want, "{typed}");
        }
    }
}

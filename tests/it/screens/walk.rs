//! The whole job in the window, pressed and read by accessibility labels: a brief typed, an offer with its price, a host
//! asked over a real sshd, an endpoint load-tested, curve, cost and verdicts, saved, opened again, the same words read.

use std::path::Path;
use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use leasebench::app::command::Screen;
use leasebench::app::state::State;
use leasebench::domain::acceptance::{Criterion, Metric, show};
use leasebench::domain::brief::{AcceptRule, Brief, Lengths, Precision, Slo};
use leasebench::domain::compare::promises::Agreement;
use leasebench::domain::evidence::Kind;
use leasebench::domain::format;
use leasebench::domain::load::Arrivals;
use leasebench::domain::text::{Language, Text, fill as filled};
use leasebench::project::store;
use leasebench::ui::shell::Window;

use super::super::sshd::Sshd;
use super::super::walk_headless::Practice;
use super::{Setup, TestWindow, window};

/// Room for a whole screen: what is scrolled away cannot be pressed.
const SIZE: [f32; 2] = [1600.0, 2600.0];
/// Ends a test that would wait for ever; nothing is expected to take as long.
const LONG: Duration = Duration::from_secs(180);

/// What a person does in the window, in one language.
struct Person {
    window: TestWindow,
    text: &'static Text,
}

impl Person {
    fn new(language: Language) -> Self {
        let window = window(Setup { language, size: SIZE, ..Setup::default() });
        Self { window, text: Text::of(language) }
    }

    fn state(&self) -> &State {
        self.window.harness.state().app().state()
    }

    fn run(&mut self) {
        self.window.harness.run_ok();
    }

    #[track_caller]
    fn press(&mut self, role: Role, label: &str) {
        self.window.harness.get_by_role_and_label(role, label).click();
        self.run();
    }

    /// Types into the field with this label, in place of what is there.
    #[track_caller]
    fn fill(&mut self, label: &str, words: &str) {
        let harness = &mut self.window.harness;
        harness.get_by_role_and_label(Role::TextInput, label).focus();
        harness.run_ok();
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.event(egui::Event::Text(words.to_owned()));
        harness.run_ok();
        harness.key_press(Key::Tab);
        harness.run_ok();
    }

    #[track_caller]
    fn choose(&mut self, label: &str, choice: &str) {
        self.press(Role::ComboBox, label);
        self.press(Role::Button, choice);
    }

    /// Goes to a step by its name in the rail.
    #[track_caller]
    fn go(&mut self, screen: Screen) {
        let text = self.text;
        let name = match screen {
            Screen::Candidates => &text.candidates.title,
            Screen::Hosts => &text.hosts.title,
            Screen::Load => &text.load.title,
            Screen::Curves => &text.curves.title,
            Screen::Cost => &text.cost.title,
            Screen::Acceptance => &text.acceptance.title,
            _ => panic!("not on this walk"),
        };
        self.press(Role::Button, name);
        assert_eq!(self.window.screen(), screen);
    }

    #[track_caller]
    fn wait(&mut self, what: &str, done: impl Fn(&Harness<'static, Window>) -> bool) {
        self.window.step_until(what, LONG, done);
    }

    #[track_caller]
    fn wait_for_jobs(&mut self) {
        self.wait("the end of the jobs", |harness| harness.state().app().state().jobs.is_empty());
    }

    /// Whether these words stand somewhere, alone or in a sentence.
    fn says(&self, words: &str) -> bool {
        self.window.harness.query_all_by_label_contains(words).next().is_some()
    }

    #[track_caller]
    fn expect(&self, words: &str) {
        assert!(self.says(words), "{words:?} is not among {:#?}", self.texts(""));
    }

    /// Every name and label from these words on downwards, or on the whole screen, without bars, rail and strip.
    #[track_caller]
    fn texts(&self, from: &str) -> Vec<String> {
        let root = self.window.harness.root();
        let nodes = root.children_recursive().filter(|node| node.accesskit_node().role() != Role::TextRun);
        let placed: Vec<(f64, String)> = nodes
            .filter_map(|node| {
                let node = node.accesskit_node();
                let place = node.bounding_box()?;
                let is_content = place.x0 > 200.0 && place.y0 >= 64.0 && place.y1 < f64::from(SIZE[1]) - 48.0;
                // The words of a plain label are its value.
                let words = node.label().or_else(|| node.value()).filter(|words| is_content && !words.is_empty());
                Some((place.y0, words?))
            })
            .collect();
        let top = match placed.iter().find(|(_, words)| words == from) {
            Some((top, _)) => *top,
            None if from.is_empty() => 0.0,
            None => panic!("{from:?} is not among {placed:#?}"),
        };
        placed.into_iter().filter(|(y, _)| *y >= top).map(|(_, words)| words).collect()
    }

    /// What every screen with numbers says.
    fn numbers(&mut self) -> Vec<(Screen, Vec<String>)> {
        let text = self.text;
        let mut read = Vec::new();
        for screen in [Screen::Hosts, Screen::Load, Screen::Curves, Screen::Cost, Screen::Acceptance] {
            self.go(screen);
            if screen == Screen::Curves {
                self.show_curve_as_table();
            }
            // Above it stands how the host is connected, which is true of this window alone.
            let below = if screen == Screen::Hosts { text.hosts.promised_found.as_str() } else { "" };
            read.push((screen, self.texts(below)));
        }
        read
    }

    /// Shows the numbers of the large curve as rows; an invalid run is asked for first.
    fn show_curve_as_table(&mut self) {
        let state = self.state();
        let run = state.derived.runs.last().unwrap();
        let plan = &state.project.as_ref().unwrap().plan;
        let is_hidden = !run.is_valid() && state.view.hidden_runs.is_empty();
        let values = [("candidate", plan.candidates[0].name.clone()), ("number", "1".to_owned())];
        if is_hidden {
            self.press(Role::CheckBox, &filled(&self.text.curves.run_name, &values));
        }
        let table = self.text.common.table.as_str();
        self.window.harness.get_all_by_role_and_label(Role::Button, table).next().unwrap().click();
        self.run();
    }
}

fn write_brief(person: &mut Person) {
    let text = person.text;
    person.press(Role::Button, &text.shell.start_brief);
    for (label, words) in [
        (text.name("outcome"), "Answer questions about orders 订单"),
        (text.name("model"), "practice"),
        (text.name("context_tokens"), "8,192"),
        (text.name("parameters"), "7,615,616,512"),
        (text.name("layers"), "28"),
        (text.name("kv_heads"), "4"),
        (text.name("head_dim"), "128"),
        (text.name("mean_rate"), "2.6"),
        (text.name("peak_rate"), "8"),
        (&text.brief.input_mean, "32"),
        (&text.brief.input_p95, "64"),
        (&text.brief.output_mean, "16"),
        (&text.brief.output_p95, "24"),
        (text.name("slo_ttft_p95"), "500"),
        (text.name("slo_itl_p95"), "100"),
        (text.name("slo_error_share"), "1"),
        (text.name("owner"), "platform"),
        (text.name("budget_month"), "16,000"),
    ] {
        person.fill(label, words);
    }
    person.choose(text.name("precision"), Precision::Bf16.name());
    person.choose(&text.brief.rule, &text.brief.rule_any);
    let mut want = Brief {
        outcome: "Answer questions about orders 订单".into(),
        precision: Some(Precision::Bf16),
        context_tokens: Some(8192),
        mean_rate: Some(2.6),
        peak_rate: Some(8.0),
        input_tokens: Lengths { mean: Some(32), p95: Some(64) },
        output_tokens: Lengths { mean: Some(16), p95: Some(24) },
        slo: Slo { ttft_p95_ms: Some(500.0), itl_p95_ms: Some(100.0), error_share: Some(0.01), ..Slo::default() },
        acceptance: AcceptRule::AnyComplete,
        owner: "platform".into(),
        budget_month: Some("16000 USD".parse().unwrap()),
        ..Brief::default()
    };
    want.model.name = "practice".into();
    want.model.parameters = Some(7_615_616_512);
    want.model.layers = Some(28);
    want.model.kv_heads = Some(4);
    want.model.head_dim = Some(128);
    assert_eq!(person.state().project.as_ref().unwrap().plan.brief, want);
    // 2.6 a second, all day.
    person.expect("224,640");
}

fn add_candidate(person: &mut Person) {
    let text = person.text;
    person.go(Screen::Candidates);
    person.press(Role::Button, &text.candidates.add);
    person.fill(text.name("gpu_model"), "H100 80GB");
    person.fill(&text.candidates.label_count, "8");
    person.fill(&text.candidates.label_gpu_memory, "80 GB");
    person.press(Role::Button, &text.candidates.done);
    person.press(Role::Link, &text.candidates.add_component);
    person.fill(&text.candidates.price, "19.92");
    person.press(Role::Button, &text.candidates.keep);
    // 730 hours.
    person.expect("14,541.60");
}

fn ask_host(person: &mut Person, sshd: &Sshd) {
    let text = person.text;
    person.go(Screen::Hosts);
    person.press(Role::Button, &text.hosts.empty_button);
    person.fill(&text.hosts.address, "gpu-a");
    person.press(Role::Button, &text.hosts.add_button);
    person.press(Role::Button, &text.hosts.probe);
    person.wait("the question about the key", |harness| {
        harness.query_by_role_and_label(Role::Button, &text.shell.key_accept).is_some()
    });
    let known_hosts = sshd.get("LB_SSH_KNOWN_HOSTS");
    let listed = std::process::Command::new("ssh-keygen").args(["-l", "-f", known_hosts]).output().unwrap();
    let known = String::from_utf8(listed.stdout).unwrap();
    let shown = person.texts("").into_iter().find(|words| words.starts_with("SHA256:"));
    let shown = shown.unwrap();
    assert!(known.contains(&shown), "{shown} is none of {known}");
    person.press(Role::Button, &text.shell.key_accept);
    person.wait_for_jobs();
    let state = person.state();
    let rows = &state.derived.candidates[0].promises;
    let row = |field: &str| rows.iter().find(|row| row.field == field).unwrap();
    assert_eq!((row("gpu_count").agreement, row("gpu_count").kind), (Agreement::Match, Some(Kind::Real)));
    assert_eq!(row("gpu_model").agreement, Agreement::Match);
    person.press(Role::Button, &text.hosts.as_in_offer);
    let words = person.texts(&text.hosts.promised_found);
    let after = |name: &str| {
        let at = words.iter().position(|word| word == name).unwrap_or_else(|| panic!("{name} in {words:#?}"));
        words[at + 1..].iter().filter(|word| **word != text.common.declared && **word != text.common.measured)
    };
    let kept = text.name("agreement_match");
    assert_eq!(after(text.name("gpu_count")).take(3).collect::<Vec<_>>(), ["8", "8", kept]);
    assert!(after(text.name("gpu_model")).nth(1).unwrap().contains("H100"));
    assert_eq!(after(text.name("gpu_model")).nth(2).unwrap(), kept);
    person.press(Role::Button, &text.hosts.mismatches_first);
}

fn test_load(person: &mut Person, url: &str) {
    let text = person.text;
    let words = &text.load;
    person.go(Screen::Load);
    person.press(Role::Button, &words.empty_button);
    person.press(Role::Button, &words.route_direct);
    person.fill(&words.base_url, url);
    person.press(Role::Button, &words.arrivals_concurrency);
    person.fill(&words.levels, "8");
    person.fill(&words.requests, "220");
    person.fill(&words.warmup, "4");
    person.press(Role::Button, &words.start_now);
    assert!(!person.state().jobs.is_empty(), "the run has begun");
    person.wait_for_jobs();
    let state = person.state();
    assert_eq!(state.derived.runs.len(), 1, "{:?}", state.last_ended.as_ref().map(|ended| &ended.outcome));
    let run = state.derived.runs[0].clone();
    assert_eq!((run.kind(), run.points.len()), (Kind::Practice, 1));
    let point = &run.points[0];
    assert_eq!((point.arrivals, point.counts.sent, point.counts.completed), (Arrivals::Concurrency, 220, 220));
    // What the window says is what the record says, whether the machine was quiet enough for a valid run or not.
    person.expect(text.name("kind_practice"));
    let (sentence, answer) = if run.is_valid() {
        (&words.finding_valid, &words.valid_yes)
    } else {
        (&words.finding_invalid, &words.valid_no)
    };
    let values = [
        ("candidate", state.project.as_ref().unwrap().plan.candidates[0].name.clone()),
        ("at", format::moment(&run.record.taken_at)),
        ("sent", "220".to_owned()),
        ("completed", "220".to_owned()),
    ];
    person.expect(&filled(sentence, &values));
    person.window.harness.get_by_role_and_label(Role::Heading, &words.is_valid);
    let validity = person.texts(&words.is_valid);
    assert!(validity.contains(answer), "{answer} is not in {validity:#?}");
    let p95 = point.ttft.unwrap().p95.unwrap() * 1e3;
    assert!(p95 >= 20.0, "the server waits 20 ms");
    person.expect(&format::short(p95));
}

fn read_curve(person: &mut Person) {
    person.go(Screen::Curves);
    person.show_curve_as_table();
    let point = person.state().derived.runs[0].points[0].clone();
    let p95 = format::short(point.ttft.unwrap().p95.unwrap() * 1e3);
    let words = person.texts(&person.text.curves.ttft_p95);
    let level = words.iter().position(|word| *word == format::short(8.0));
    assert_eq!(level.and_then(|at| words.get(at + 1)), Some(&p95), "{words:#?}");
    // The next reading begins with the plot again.
    let plot = person.text.common.plot.as_str();
    person.window.harness.get_all_by_role_and_label(Role::Button, plot).next().unwrap().click();
    person.run();
}

fn read_cost(person: &mut Person) {
    let text = person.text;
    person.go(Screen::Cost);
    person.expect("14,541.60");
    // Practice proves nothing about the offer, so there is a month and no cost of accepted work, and it is said why.
    let cost = &person.state().derived.candidates[0].cost;
    let gap = text.gap(cost.per_thousand.as_ref().unwrap_err());
    person.expect(&gap);
    person.expect(&text.cost.none_known);
}

/// The row of a criterion, as a screen reader says it.
#[track_caller]
fn verdict_row(person: &Person, metric: Metric) -> String {
    let criteria = &person.state().project.as_ref().unwrap().plan.criteria;
    let criterion: &Criterion = criteria.iter().find(|criterion| criterion.metric == metric).unwrap();
    let statement = show::statement(criterion, person.text);
    let rows = person.window.harness.get_all_by_role(Role::Row).filter_map(|row| row.accesskit_node().label());
    let fitting: Vec<String> = rows.filter(|row| row.contains(statement)).collect();
    assert_eq!(fitting.len(), 1, "{statement}: {fitting:?}");
    fitting[0].clone()
}

fn read_verdicts(person: &mut Person) {
    let text = person.text;
    person.go(Screen::Acceptance);
    person.press(Role::Button, &text.acceptance.empty_button);
    for metric in [Metric::GpuCount, Metric::GpuModel] {
        let row = verdict_row(person, metric);
        assert!(row.contains(&text.common.pass) && row.contains("ev:"), "{row}");
    }
    for metric in [Metric::TtftP95, Metric::AcceptedShare, Metric::ValidRuns] {
        let row = verdict_row(person, metric);
        assert!(row.contains(&text.common.not_tested) && !row.contains(&text.common.pass), "{row}");
    }
    let ttft = verdict_row(person, Metric::TtftP95);
    person.press(Role::Row, &ttft);
    person.expect(text.name("because_only_practice"));
    person.window.harness.key_press(Key::Escape);
    person.run();
}

fn save(person: &mut Person, folder: &Path) {
    let label = &person.text.shell.save_as_path;
    let harness = &mut person.window.harness;
    harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    harness.run_ok();
    harness.get_by_role_and_label(Role::TextInput, label).focus();
    harness.run_ok();
    harness.event(egui::Event::Text(folder.display().to_string()));
    harness.run_ok();
    harness.key_press(Key::Enter);
    person.wait("the save", |harness| {
        harness.state().app().state().project.as_ref().is_some_and(|project| !project.unsaved())
    });
    person.wait_for_jobs();
}

fn open(person: &mut Person, folder: &Path) {
    let text = person.text;
    person.press(Role::Button, &text.shell.start_open);
    person.fill(&text.shell.open_path, &folder.display().to_string());
    person.press(Role::Button, &text.common.open);
    person.wait("the project", |harness| harness.state().app().state().project.is_some());
    person.wait_for_jobs();
}

/// The whole job in one language.
fn walk(language: Language) {
    let temp = tempfile::tempdir().unwrap();
    let sshd = Sshd::start_with(&["--ttl", "600"]);
    let mut person = Person::new(language);
    person.window.harness.state_mut().app_mut().set_ssh(sshd.setup("", ""));
    write_brief(&mut person);
    add_candidate(&mut person);
    ask_host(&mut person, &sshd);
    let practice = Practice::start(&temp.path().join("home"));
    test_load(&mut person, &practice.url);
    drop(practice);
    read_curve(&mut person);
    read_cost(&mut person);
    read_verdicts(&mut person);
    let before = person.numbers();
    let folder = temp.path().join("walk");
    save(&mut person, &folder);
    drop(person);

    let opened = store::read(&folder).unwrap();
    assert!(opened.altered.is_empty());
    let n_practice = opened.evidence.iter().filter(|sealed| sealed.record.kind == Kind::Practice).count();
    assert_eq!(n_practice, 1, "the load run; every other record is what the host answered");

    let mut other = Person::new(language);
    open(&mut other, &folder);
    let after = other.numbers();
    for ((screen, before), (_, after)) in before.iter().zip(&after) {
        assert!(before.len() > 10, "{screen:?} was read: {before:?}");
        assert_eq!(after, before, "{screen:?} says the same in another window");
    }
}

#[test]
fn the_whole_job_in_english() {
    walk(Language::En);
}

#[test]
fn the_whole_job_in_chinese() {
    walk(Language::ZhHans);
}

//! Every widget on one page, in both languages and themes: nothing lacks a glyph or a name, and pictures can be made of it.

use egui_kittest::Harness;
use leasebench::app::command::Command;
use leasebench::domain::failure::{Failure, FailureKind};
use leasebench::domain::figure::{Figure, Gap, GapKind, Input, Origin};
use leasebench::domain::ids::EvidenceId;
use leasebench::domain::text::{Language, Text};
use leasebench::ui::theme::{self, Font, Line};
use leasebench::ui::widgets::*;

#[derive(Default)]
struct Page {
    words: String,
    number: Option<f64>,
    money: Option<leasebench::domain::money::Money>,
    flag: Option<bool>,
    rate: f64,
    tick: bool,
    date: Option<chrono::NaiveDate>,
    out: Vec<Command>,
}

fn page(ui: &mut egui::Ui, page: &mut Page, language: Language) {
    let text = Text::of(language);
    let zh = language == Language::ZhHans;
    let t = theme::tokens(ui);
    let say = |en: &'static str, zh_words: &'static str| if zh { zh_words } else { en };
    egui::Frame::new().fill(t.color.bg_canvas).inner_margin(20).show(ui, |ui| {
        page_header(
            ui,
            say("Widgets", "部件"),
            say(
                "B keeps the SLO up to 8 req/s, A up to 12. C leaves it after 2.",
                "单价最低不等于成本最低：候选 C 每小时 0.47 USD，但候选 B 每千次合格请求更便宜。",
            ),
            |ui| {
                Button::primary(say("Fix 2 open fields", "补齐 2 项")).show(ui);
                Button::secondary(say("Import config.json…", "导入 config.json…")).icon(icons::UPLOAD_SIMPLE).show(ui);
            },
        );
        columns(ui, 12.0, [1.0, 1.0], |[left, right]| {
            card(left, |ui| {
                section_header(ui, Some((Mark::Pass, "ok")), say("Outcome and model", "目标与模型"), "3 of 3");
                Field::new("g.words", say("Outcome", "目标")).text(ui, &mut page.words);
                ui.add_space(4.0);
                columns(ui, 12.0, [1.0, 1.0, 1.0], |[a, b, c]| {
                    Field::new("g.number", say("Peak arrival rate", "峰值到达率")).unit("req/s").number(
                        a,
                        text,
                        0.0..=100.0,
                        &mut page.number,
                    );
                    Field::new("g.money", say("Budget", "预算")).unit(say("a month", "每月")).money(
                        b,
                        text,
                        iso_currency::Currency::USD,
                        &mut page.money,
                    );
                    Field::new("g.flag", say("Can be taken back", "可收回")).yes_no(c, text, &mut page.flag);
                });
                ui.add_space(4.0);
                columns(ui, 12.0, [1.0, 1.0], |[a, b]| {
                    Field::new("g.prompts", say("Golden prompts to score", "评分样例"))
                        .unit("prompts")
                        .error(Some(say("At least 40 to judge a 95 % share", "评判 95 % 至少需要 40 条").to_owned()))
                        .number(a, text, 0.0..=1.0e6, &mut page.number);
                    Field::new("g.date", say("Due", "期限")).date(b, text, &mut page.date);
                });
                tick(ui, say("Nobody else depends on this host right now", "目前没有其他人依赖此主机"), &mut page.tick);
            });
            left.add_space(12.0);
            card(left, |ui| {
                section_header(ui, Some((Mark::Inconclusive, "open")), say("Completeness gate", "完整性检查"), "");
                gate(ui, 14, 16, "14 of 16");
                ui.add_space(6.0);
                ui.horizontal_wrapped(|ui| {
                    for mark in [Mark::Pass, Mark::Fail, Mark::Inconclusive, Mark::NotTested, Mark::Stale, Mark::Waived]
                    {
                        verdict_badge(ui, text, mark, BadgeSize::Normal);
                    }
                    verdict_badge(ui, text, Mark::Inconclusive, BadgeSize::Big);
                });
                tally(ui, text, &[(Mark::Pass, 13), (Mark::Inconclusive, 1), (Mark::Waived, 1), (Mark::NotTested, 1)]);
                ui.horizontal(|ui| {
                    Chip::new("gpu-a1").series(0).mark(Mark::Pass).rest(say("all match", "全部相符")).show(ui);
                    Chip::new("gpu-d1")
                        .series(3)
                        .mark(Mark::Fail)
                        .rest(say("3 mismatches", "3 处不符"))
                        .selected(true)
                        .show(ui);
                    Button::ghost(say("Add host…", "添加主机…")).icon(icons::PLUS).show(ui);
                });
                ui.horizontal(|ui| {
                    segmented(ui, &[(0, say("Inference", "推理")), (1, "LoRA"), (2, "QLoRA")], 0);
                    Button::destructive(say("Stop and keep", "停止并保留")).icon(icons::STOP).key("Ctrl .").show(ui);
                    Button::destructive_filled(say("Run 2 drills", "运行 2 次演练")).enabled(false, "").show(ui);
                    Button::link(say("Fix", "去补")).icon_after(icons::ARROW_RIGHT).show(ui);
                });
                let figure =
                    Figure::derived(0.1832, "a × b", vec![Input::leaf("mean_rate", "2.6", "req/s", Origin::Measured)])
                        .within(0.1826, 0.1839);
                FigureUi::new("cost").unit("USD").font(Font::Figure).show(
                    ui,
                    text,
                    &Ok(figure.clone()),
                    |v| format!("{v:.4}"),
                    &mut page.out,
                );
                ui.horizontal(|ui| {
                    FigureUi::new("cost m").unit("USD").font(Font::FigureM).show(
                        ui,
                        text,
                        &Ok(figure.clone()),
                        |v| format!("{v:.4}"),
                        &mut page.out,
                    );
                    FigureUi::new("cost b").unit("USD").interval().show(
                        ui,
                        text,
                        &Ok(figure),
                        |v| format!("{v:.4}"),
                        &mut page.out,
                    );
                    FigureUi::new("kv").unit("GiB").show(
                        ui,
                        text,
                        &Ok(Figure::predicted(28.0, "", vec![])),
                        |v| format!("{v:.1}"),
                        &mut page.out,
                    );
                    FigureUi::new("gap").show(
                        ui,
                        text,
                        &Err::<Figure<f64>, _>(Gap::new(GapKind::NoRun)),
                        |v| format!("{v:.1}"),
                        &mut page.out,
                    );
                });
                slider(ui, "g.slider", say("Mean demand", "平均到达率"), "req/s", 0.0..=8.0, 0.1, &mut page.rate);
            });
            let lines = [
                ChartLine {
                    label: "A".into(),
                    ..ChartLine::new(
                        "A · 1×H100",
                        Look::Series(0),
                        [
                            (2.0, 118.0),
                            (4.0, 134.0),
                            (6.0, 160.0),
                            (8.0, 205.0),
                            (10.0, 290.0),
                            (12.0, 460.0),
                            (14.0, 1900.0),
                        ]
                        .map(|(x, y)| ChartPoint::new(x, y))
                        .to_vec(),
                    )
                },
                ChartLine {
                    label: "B".into(),
                    ..ChartLine::new(
                        "B · 2×L40S",
                        Look::Series(1),
                        [(2.0, 188.0), (4.0, 214.0), (6.0, 262.0), (8.0, 388.0), (10.0, 900.0), (12.0, 3300.0)]
                            .map(|(x, y)| ChartPoint { x, y, provisional: x > 11.0 })
                            .to_vec(),
                    )
                },
                ChartLine::new(
                    "predicted",
                    Look::Predicted(0),
                    [(2.0, 95.0), (8.0, 170.0), (14.0, 900.0)].map(|(x, y)| ChartPoint::new(x, y)).to_vec(),
                ),
                ChartLine {
                    band: vec![(1.0, 150.0, 260.0), (4.0, 2000.0, 4000.0)],
                    ..ChartLine::new(
                        "plain",
                        Look::Plain(t.color.accent, Line::Solid),
                        vec![ChartPoint::new(1.0, 200.0), ChartPoint::new(4.0, 3000.0)],
                    )
                },
            ];
            card(right, |ui| {
                Chart::new("g.chart", "TTFT p95", "ms", say("offered arrival rate, req/s", "施压速率，req/s"), &lines)
                    .log(true)
                    .limits(&[Limit { y: 500.0, words: "SLO 500 ms".into(), soft: false }])
                    .at(&[At { x: 8.0, words: say("the brief", "需求书").into() }])
                    .height(260.0)
                    .show(ui, text, &mut Vec::new());
            });
            right.add_space(12.0);
            let columns = [
                Column::left(say("Criterion", "标准"), 1.0),
                Column::right("A", -90.0).candidate(0, "1×H100"),
                Column::right("B", -90.0).candidate(1, "2×L40S").selected(true),
                Column::left(say("Verdict", "结论"), -120.0),
                Column::right(say("Evidence", "证据"), -90.0),
            ];
            Card::new().tight().show(right, |ui| {
                Table::new("g.table", &columns).clickable(Some(2)).show(ui, 4, |row| {
                    if row.idx == 0 {
                        row.group(say("Money, USD", "费用，USD"));
                        return;
                    }
                    row.text(say("Recovery after a worker is killed", "杀进程后恢复"));
                    row.marked(text, Origin::Measured, "2,170.90");
                    row.marked(text, Origin::Declared, "1,225.00");
                    row.badge(Mark::Pass, text.common.pass.as_str());
                    row.evidence(&[EvidenceId("e7b05c94aa".into())], "", &mut page.out);
                });
            });
            right.add_space(12.0);
            card(right, |ui| {
                legend(
                    ui,
                    &[(t.color.mem_weights, say("Weights", "权重")), (t.color.mem_kv, say("KV cache", "KV 缓存"))],
                );
                let words =
                    MemoryWords { free: "28.2 free", short: "21.5 GiB too small", limit: "limit 72.8", name: "A" };
                memory_bar(
                    ui,
                    420.0,
                    80.0,
                    &MemoryParts { weights: 14.2, activations: 1.6, runtime: 0.8, kv: 28.0, total: 80.0, limit: 72.8 },
                    words,
                );
                memory_bar(
                    ui,
                    420.0,
                    80.0,
                    &MemoryParts { weights: 14.2, activations: 0.6, runtime: 0.4, kv: 28.0, total: 24.0, limit: 21.7 },
                    words,
                );
                against_limit(
                    ui,
                    AgainstLimit {
                        value: 51.0,
                        interval: Some((39.0, 63.0)),
                        limit: 60.0,
                        at_most: true,
                        mark: Mark::Inconclusive,
                        limit_words: "limit 60 s",
                        name: "recovery",
                    },
                );
            });
        });
        ui.add_space(12.0);
        columns(ui, 12.0, [1.0, 1.0], |[left, right]| {
            failure_card(
                left,
                text,
                "g.fail",
                &Failure::new(FailureKind::EndpointUnreachable)
                    .because("connection refused")
                    .at("gpu-a.example")
                    .raw("x\u{1b}[31m [masked: bearer token]\n"),
                Some("Again"),
            );
            raw_view(
                right,
                "g.raw",
                "{\"run\":6,\"auth\":\"[masked: bearer token]\",\u{1b}[0m}\n中文 mixed 与 Latin: 2 × 3 ≤ 4 → µs\n",
                100.0,
            );
            let flow = Diagram {
                size: egui::vec2(440.0, 120.0),
                boxes: vec![
                    DiagramBox {
                        rect: egui::Rect::from_min_size(egui::pos2(0.0, 20.0), egui::vec2(96.0, 48.0)),
                        title: say("Client", "客户端").into(),
                        sub: "8 req/s".into(),
                        dashed: false,
                        mark: None,
                        accent: false,
                    },
                    DiagramBox {
                        rect: egui::Rect::from_min_size(egui::pos2(180.0, 20.0), egui::vec2(96.0, 48.0)),
                        title: say("Gateway", "网关").into(),
                        sub: say("retry once", "重试一次").into(),
                        dashed: true,
                        mark: Some(Mark::Fail),
                        accent: false,
                    },
                ],
                arrows: vec![
                    Arrow {
                        points: vec![egui::pos2(96.0, 44.0), egui::pos2(180.0, 44.0)],
                        kind: ArrowKind::Request,
                        head: true,
                    },
                    Arrow {
                        points: vec![egui::pos2(180.0, 60.0), egui::pos2(96.0, 60.0)],
                        kind: ArrowKind::Failure,
                        head: true,
                    },
                ],
                notes: vec![Note {
                    at: egui::pos2(0.0, 84.0),
                    lines: vec![say("Runtime lost: answers 503", "运行时丢失：返回 503").into()],
                    failure: true,
                }],
            };
            diagram(right, &flow);
        });
    });
}

fn gallery(language: Language, theme: egui::Theme) -> Harness<'static, Page> {
    let state = Page {
        words: "Answer support questions in chat, first words within half a second".into(),
        number: Some(8.0),
        rate: 2.6,
        tick: true,
        ..Page::default()
    };
    let mut harness = Harness::builder()
        .with_size([1440.0, 1000.0])
        .with_theme(theme)
        .with_render_cursor(false)
        .with_context_setup(theme::install)
        .build_ui_state(move |ui, state| page(ui, state, language), state);
    harness.run_ok();
    harness
}

#[test]
fn every_widget_has_glyphs_and_a_name_in_both_languages_and_themes() {
    for language in Language::ALL {
        for theme in [egui::Theme::Light, egui::Theme::Dark] {
            let mut harness = gallery(language, theme);
            harness.run();
        }
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn gallery_pictures() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    for (language, theme) in [(Language::En, egui::Theme::Light), (Language::ZhHans, egui::Theme::Dark)] {
        let mut harness = gallery(language, theme);
        harness
            .render()
            .unwrap()
            .save(folder.join(format!("gallery-{theme:?}-{}.png", language.tag()).to_lowercase()))
            .unwrap();
    }
}

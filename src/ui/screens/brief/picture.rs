//! The architecture of the run, drawn from the brief: request flow and failure flow, or the six layers; then the four
//! questions.

use egui::{Align, Layout, Rect, Sense, Stroke, Ui, pos2, vec2};

use crate::domain::brief::Brief;
use crate::domain::format::{count, group_thousands};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, Line, tokens};
use crate::ui::widgets::series::paint_line;
use crate::ui::widgets::{
    Arrow, ArrowKind, Diagram, DiagramBox, Mark, Note, caption, card, diagram, heading, mark, rule, segmented, split,
};

/// Width of a line of the failure note, in Latin characters.
const NOTE_WIDTH: usize = 19;
/// Lines of the failure note.
const NOTE_LINES: usize = 4;

/// The card.
pub(super) fn run_ui(ui: &mut Ui, brief: &Brief, revision: u64, text: &Text) {
    let t = tokens(ui);
    let id = egui::Id::unique("brief six layers");
    let mut layers = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &text.brief.run_title);
            },
            |ui| {
                let choices = [(false, text.brief.flow.as_str()), (true, text.brief.layers.as_str())];
                layers = segmented(ui, &choices, layers).unwrap_or(layers);
            },
        );
        if layers {
            layers_ui(ui, brief, text);
        } else {
            ui.add_space(t.space.xs);
            diagram(ui, &flow(brief, text));
            ui.add_space(t.space.s);
            legend(ui, revision, text);
        }
        rule(ui);
        for (question, answer) in questions(brief, text) {
            answer_row(ui, question, answer.as_deref(), text);
        }
    });
    ui.data_mut(|data| data.insert_temp(id, layers));
}

fn legend(ui: &mut Ui, revision: u64, text: &Text) {
    let t = tokens(ui);
    ui.horizontal(|ui| {
        for (line, color, words) in [
            (Line::Solid, t.color.accent, &text.brief.request_flow),
            (Line::Dashed(5.0), t.color.fail, &text.brief.failure_flow),
        ] {
            let (rect, _) = ui.allocate_exact_size(vec2(24.0, 12.0), Sense::hover());
            paint_line(ui.painter(), rect, line, Stroke::new(1.8, color));
            ui.label(Font::Caption.rich(words).color(t.color.text_secondary));
            ui.add_space(t.space.m);
        }
        caption(ui, &fill(&text.brief.drawn, &[("n", revision.to_string())]));
    });
}

/// Parts and lines of the run as the brief describes it.
fn flow(brief: &Brief, text: &Text) -> Diagram {
    let words = &text.brief;
    let not_stated = || text.common.not_stated.clone();
    let place = |x: f32, y: f32, w: f32| Rect::from_min_size(pos2(x, y), vec2(w, 48.0));
    let part = |rect, title: &str, sub: String| DiagramBox {
        rect,
        title: title.to_owned(),
        sub,
        dashed: false,
        mark: None,
        accent: false,
    };
    let runtime = |n: u8| fill(&words.runtime_n, &[("n", n.to_string())]);
    let client = place(0.0, 20.0, 104.0);
    let gateway = place(152.0, 20.0, 104.0);
    let first = place(304.0, 0.0, 140.0);
    let second = place(304.0, 58.0, 140.0);
    let store = place(304.0, 132.0, 140.0);
    let cache = place(152.0, 132.0, 104.0);
    let peak = brief.peak_rate.map_or_else(
        || words.client_unknown.clone(),
        |rate| fill(&words.client_sub, &[("rate", group_thousands(&rate.to_string()))]),
    );
    let serves = match (brief.precision, brief.context_tokens) {
        (Some(precision), Some(context)) => fill(
            &words.runtime_sub,
            &[("precision", precision.name().to_owned()), ("context", count(u64::from(context)))],
        ),
        _ => words.runtime_unknown.clone(),
    };
    let persists = stated(&brief.must_persist).map_or_else(not_stated, str::to_owned);
    let arrow = |kind, points: Vec<egui::Pos2>| Arrow { points, kind, head: true };
    let lost = stated(&brief.fallback)
        .map_or_else(|| words.lost_unknown.clone(), |fallback| fill(&words.lost, &[("fallback", fallback.to_owned())]));
    Diagram {
        size: vec2(444.0, 180.0),
        boxes: vec![
            part(client, &words.client, peak),
            part(gateway, &words.gateway, words.gateway_sub.clone()),
            part(first, &runtime(1), serves),
            DiagramBox { dashed: true, ..part(second, &runtime(2), words.runtime_maybe.clone()) },
            part(store, &words.store, persists),
            part(cache, &words.cache, words.cache_sub.clone()),
        ],
        arrows: vec![
            arrow(ArrowKind::Request, vec![client.right_center(), gateway.left_center()]),
            arrow(ArrowKind::Request, vec![gateway.right_center() - vec2(0.0, 6.0), first.left_center()]),
            arrow(ArrowKind::Request, vec![gateway.right_center() + vec2(0.0, 6.0), second.left_center()]),
            arrow(ArrowKind::Request, vec![second.center_bottom(), store.center_top()]),
            arrow(ArrowKind::Request, vec![store.left_center(), cache.right_center()]),
            arrow(
                ArrowKind::Failure,
                vec![
                    first.left_top() + vec2(0.0, 7.0),
                    pos2(gateway.center().x, first.top() + 7.0),
                    gateway.center_top(),
                ],
            ),
        ],
        notes: vec![Note { at: pos2(0.0, 84.0), lines: wrap(&lost, NOTE_WIDTH, NOTE_LINES), failure: true }],
    }
}

/// Words that are there.
fn stated(words: &str) -> Option<&str> {
    Some(words.trim()).filter(|words| !words.is_empty())
}

/// Lines of at most `width` Latin characters; a Chinese character counts twice. What does not fit `most` lines ends
/// with an ellipsis.
fn wrap(words: &str, width: usize, most: usize) -> Vec<String> {
    let size = |c: char| if c.is_ascii() { 1 } else { 2 };
    let mut lines: Vec<String> = vec![String::new()];
    let mut used = 0;
    for piece in pieces(words) {
        let needs: usize = piece.trim_end().chars().map(size).sum();
        if used > 0 && used + needs > width {
            lines.push(String::new());
            used = 0;
        }
        for c in piece.chars() {
            // A word longer than a line is broken where the line ends.
            if used > 0 && used + size(c) > width && c != ' ' {
                lines.push(String::new());
                used = 0;
            }
            used += size(c);
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.truncate(last.trim_end().len());
            last.push('…');
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Pieces that stay together: a word with the blank after it, or one Chinese character with its punctuation.
fn pieces(words: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut chars = words.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next_is_mark = chars.peek().is_some_and(|(_, next)| "，。；：、！？）”".contains(*next));
        if c == ' ' || (!c.is_ascii() && !next_is_mark) {
            pieces.extend(words.get(start..end));
            start = end;
        }
    }
    pieces.extend(words.get(start..).filter(|rest| !rest.is_empty()));
    pieces
}

/// The four questions, each with what the brief answers.
fn questions<'a>(brief: &'a Brief, text: &'a Text) -> [(&'a str, Option<String>); 4] {
    let words = &text.brief;
    let owned = |answer: &'a str| stated(answer).map(str::to_owned);
    [
        (&words.question_persist, owned(&brief.must_persist)),
        (&words.question_private, owned(&brief.data_boundary)),
        (&words.question_scale, scale(brief, text)),
        (&words.question_lost, owned(&brief.fallback)),
    ]
}

fn scale(brief: &Brief, text: &Text) -> Option<String> {
    let (mean, peak) = (brief.mean_rate?, brief.peak_rate?);
    let rate = |rate: f64| group_thousands(&rate.to_string());
    Some(fill(&text.brief.scale_answer, &[("mean", rate(mean)), ("peak", rate(peak))]))
}

/// The six layers, each with what the brief says about it.
fn layers<'a>(brief: &'a Brief, text: &'a Text) -> [(&'a str, Option<String>); 6] {
    let words = &text.brief;
    let owned = |answer: &'a str| stated(answer).map(str::to_owned);
    let model = &brief.model;
    let runtime = stated(&model.name).map(|name| {
        let revision = stated(&model.revision).map(|revision| format!(" @ {revision}")).unwrap_or_default();
        let precision = brief.precision.map(|precision| format!(", {}", precision.name())).unwrap_or_default();
        format!("{name}{revision}{precision}")
    });
    let operations = match (stated(&brief.owner), stated(&brief.stop_rule)) {
        (Some(owner), Some(stop)) => {
            Some(fill(&words.operations_answer, &[("owner", owner.to_owned()), ("stop", stop.to_owned())]))
        }
        (owner, stop) => owner.or(stop).map(str::to_owned),
    };
    [
        (&words.layer_capacity, scale(brief, text)),
        (&words.layer_runtime, runtime),
        (&words.layer_data, owned(&brief.must_persist)),
        (&words.layer_network, owned(&brief.data_boundary)),
        (&words.layer_scheduling, owned(&brief.fallback)),
        (&words.layer_operations, operations),
    ]
}

fn layers_ui(ui: &mut Ui, brief: &Brief, text: &Text) {
    let t = tokens(ui);
    for (n, (name, answer)) in layers(brief, text).into_iter().enumerate() {
        let width = ui.available_width();
        let row = ui.allocate_ui_with_layout(vec2(width, t.size.row), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_size(vec2(width, t.size.row));
            ui.label(Font::Caption.rich((n + 1).to_string()).color(t.color.text_muted));
            ui.label(Font::Body.rich(name));
            answer_at_right(ui, answer.as_deref(), text);
        });
        ui.painter().hline(row.response.rect.x_range(), row.response.rect.bottom(), t.hairline());
    }
}

fn answer_row(ui: &mut Ui, question: &str, answer: Option<&str>, text: &Text) {
    let t = tokens(ui);
    ui.horizontal(|ui| {
        let (shape, word) = match answer {
            Some(_) => (Mark::Pass, text.brief.answered.as_str()),
            None => (Mark::Inconclusive, text.common.not_stated.as_str()),
        };
        mark(ui, shape, t.size.verdict, word);
        ui.label(Font::Body.rich(question));
        answer_at_right(ui, answer, text);
    });
}

/// What the brief answers, shortened to the room that is left.
fn answer_at_right(ui: &mut Ui, answer: Option<&str>, text: &Text) {
    let t = tokens(ui);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let (words, color) = match answer {
            Some(answer) => (answer, t.color.text_secondary),
            None => (text.common.not_stated.as_str(), t.color.inconclusive),
        };
        ui.add(egui::Label::new(Font::Small.rich(words).color(color)).truncate());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::Language;

    #[test]
    fn an_empty_brief_is_drawn_with_what_is_not_stated() {
        let text = Text::of(Language::En);
        let flow = flow(&Brief::default(), text);
        let subs: Vec<&str> = flow.boxes.iter().map(|part| part.sub.as_str()).collect();
        assert_eq!(
            subs,
            [
                "peak not stated",
                "sign-in, queue",
                "model not stated",
                "if the peak needs it",
                "not stated",
                "weights, prefix"
            ]
        );
        assert_eq!(flow.notes.first().unwrap().lines, ["Runtime lost: what", "happens then is not", "stated"]);
        assert!(questions(&Brief::default(), text).iter().all(|(_, answer)| answer.is_none()));
        assert!(layers(&Brief::default(), text).iter().all(|(_, answer)| answer.is_none()));
    }

    #[test]
    fn parts_lie_on_the_canvas_and_apart() {
        let flow = flow(&Brief::default(), Text::of(Language::ZhHans));
        let canvas = Rect::from_min_size(pos2(0.0, 0.0), flow.size);
        for (n, part) in flow.boxes.iter().enumerate() {
            assert!(canvas.contains_rect(part.rect), "{}", part.title);
            for other in flow.boxes.iter().skip(n + 1) {
                assert!(!part.rect.intersects(other.rect), "{} over {}", part.title, other.title);
            }
        }
    }

    #[test]
    fn lines_break_between_words_and_chinese_characters() {
        for (words, width, most, want) in [
            ("retries elsewhere once", 10, 4, vec!["retries", "elsewhere", "once"]),
            ("a verylongwordindeed", 8, 4, vec!["a", "verylong", "wordinde", "ed"]),
            ("重试一次，然后返回错误", 8, 4, vec!["重试一", "次，然后", "返回错误"]),
            ("one two three four", 5, 2, vec!["one", "two…"]),
            ("", 5, 2, vec![""]),
        ] {
            assert_eq!(wrap(words, width, most), want, "{words}");
        }
    }
}

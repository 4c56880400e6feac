//! The picture of a topology: a pure layout, and the painting of it. From the top: NVLink, GPUs in a row, network cards
//! under the GPU they are nearest to, CPUs under their GPUs, then cards that hang on a CPU or farther away.

use std::collections::BTreeMap;

use egui::{Align2, CornerRadius, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2};

use crate::domain::text::{Text, fill};
use crate::domain::topology::{Place, Topology, is_nvlink};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::badge::paint_mark;
use crate::ui::widgets::{Mark, focus_ring};

/// Distance from one GPU to the next.
const PITCH: std::ops::RangeInclusive<f32> = 50.0..=112.0;
/// Room between two boxes.
const GAP: f32 = 6.0;
const BAR: f32 = 32.0;
const GPU: f32 = 42.0;
const CARD: f32 = 24.0;
const CPU: f32 = 32.0;
/// A line with a word beside it.
const WIRE: f32 = 20.0;
/// Cards under one GPU; more are counted in the last box.
const MOST_CARDS: usize = 3;
/// More arcs than this carry no words of their own.
const MOST_WORDS: usize = 8;

/// What is known of a GPU beside its connections.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct GpuState {
    /// "34 °C".
    pub temperature: Option<String>,
    /// The worst finding that names it.
    pub fault: Option<(Mark, String)>,
}

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bar,
    Gpu(u32),
    Card,
    Cpu,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    rect: Rect,
    kind: Kind,
    title: String,
    /// What a screen reader says and hovering shows.
    name: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Wire {
    points: Vec<Pos2>,
    nvlink: bool,
    /// The tool's word and where it stands.
    word: Option<(Pos2, String)>,
    width: f32,
}

/// A picture before it is painted.
#[derive(Debug, Clone, PartialEq, Default)]
struct Picture {
    size: Vec2,
    parts: Vec<Part>,
    wires: Vec<Wire>,
}

/// Draws the picture; it scrolls sideways when the GPUs need more room than there is.
pub(super) fn picture_ui(ui: &mut Ui, topology: &Topology, states: &BTreeMap<u32, GpuState>, text: &Text) {
    let picture = layout(topology, ui.available_width(), text);
    let draw = |ui: &mut Ui| {
        let (canvas, _) = ui.allocate_exact_size(picture.size, Sense::hover());
        let move_by = canvas.min.to_vec2();
        for wire in &picture.wires {
            paint_wire(ui, wire, move_by);
        }
        for (idx, part) in picture.parts.iter().enumerate() {
            let state = match part.kind {
                Kind::Gpu(gpu_idx) => states.get(&gpu_idx),
                _ => None,
            };
            paint_part(ui, idx, part, part.rect.translate(move_by), state);
        }
    };
    if picture.size.x > ui.available_width() + 0.5 {
        egui::ScrollArea::horizontal().id_salt("topology picture").show(ui, draw);
    } else {
        draw(ui);
    }
}

/// Places every part for a width.
fn layout(topology: &Topology, width: f32, text: &Text) -> Picture {
    let mut picture = Picture::default();
    // GPUs of one group stand side by side, so that their CPUs fit under them.
    let order: Vec<usize> = topology.groups.iter().flat_map(|group| group.gpus.iter().copied()).collect();
    let n = float(order.len().max(1));
    let pitch = (width / n).clamp(*PITCH.start(), *PITCH.end());
    let total = pitch * n - GAP;
    let left = ((width - total) / 2.0).max(0.0);
    let column = |idx: usize| left + pitch * float(idx);
    let column_of: BTreeMap<usize, f32> = order.iter().enumerate().map(|(idx, gpu)| (*gpu, column(idx))).collect();
    let centre = |gpu: usize| column_of.get(&gpu).copied().unwrap_or(left) + (pitch - GAP) / 2.0;
    let mut y = 2.0;
    y = nvlink(&mut picture, topology, &order, centre, Rect::from_min_size(pos2(left, y), vec2(total, BAR)), text);
    for gpu in &order {
        let Some(part) = topology.parts.get(*gpu) else { continue };
        let rect = Rect::from_min_size(pos2(centre(*gpu) - (pitch - GAP) / 2.0, y), vec2(pitch - GAP, GPU));
        let kind = Kind::Gpu(part.gpu.unwrap_or_default());
        picture.parts.push(Part { rect, kind, title: part.name.clone(), name: part.name.clone() });
    }
    y += GPU;
    let places = topology.places();
    let below = cards_of_gpus(&mut picture, topology, &places, &order, centre, pitch - GAP, y, text);
    let deepest = below.values().copied().fold(y, f32::max);
    y = deepest + WIRE;
    let mut bottom = y;
    let mut first = 0;
    for (idx, group) in topology.groups.iter().enumerate() {
        let from = column(first);
        first += group.gpus.len();
        let rect = Rect::from_min_max(pos2(from, y), pos2(column(first) - GAP, y + CPU));
        let known = group.numa.is_some() || group.cpus.is_some();
        if known {
            for gpu in &group.gpus {
                let start = below.get(gpu).copied().unwrap_or(y - WIRE);
                picture.wires.push(plain(vec![pos2(centre(*gpu), start), pos2(centre(*gpu), y)], None));
            }
            let name = group_name(group.numa.as_deref(), group.cpus.as_deref(), text);
            picture.parts.push(Part { rect, kind: Kind::Cpu, title: name.clone(), name });
        }
        let hanging: Vec<usize> =
            places.iter().filter(|(_, place)| *place == Place::Group(idx)).map(|(card, _)| *card).collect();
        let end = hanging_cards(&mut picture, topology, &hanging, rect, "NODE", text);
        bottom = bottom.max(end.max(if known { y + CPU } else { y - WIRE }));
    }
    between_sockets(&mut picture, topology);
    let far: Vec<usize> =
        places.iter().filter(|(_, place)| *place == Place::Elsewhere).map(|(card, _)| *card).collect();
    let whole = Rect::from_min_max(pos2(left, bottom), pos2(left + total, bottom));
    let word = far.first().and_then(|card| order.first().and_then(|gpu| topology.connection(*gpu, *card)));
    bottom = bottom.max(hanging_cards(&mut picture, topology, &far, whole, word.unwrap_or("?"), text));
    picture.size = vec2(width.max(total), bottom + 2.0);
    picture
}

/// The bar that joins all GPUs, or an arc for each pair that is near; returns where the GPUs begin.
fn nvlink(
    picture: &mut Picture,
    topology: &Topology,
    order: &[usize],
    centre: impl Fn(usize) -> f32,
    bar: Rect,
    text: &Text,
) -> f32 {
    if let Some(words) = topology.all_nvlink() {
        let n = order.len() * (order.len() - 1) / 2;
        let title = fill(&text.hosts.nvlink_all, &[("words", words), ("n", n.to_string())]);
        picture.parts.push(Part { rect: bar, kind: Kind::Bar, title: title.clone(), name: title });
        let y = bar.bottom() + WIRE;
        for gpu in order {
            // Four lines stand for "many links"; the word on the bar has the number.
            for step in [-9.0, -3.0, 3.0, 9.0] {
                let x = centre(*gpu) + step;
                let points = vec![pos2(x, bar.bottom()), pos2(x, y)];
                picture.wires.push(Wire { points, nvlink: true, word: None, width: 1.6 });
            }
        }
        return y;
    }
    let near = |word: &str| is_nvlink(word) || matches!(word, "PIX" | "PXB" | "PHB");
    let mut arcs: Vec<(usize, usize, &str)> = Vec::new();
    for (n, a) in order.iter().enumerate() {
        for b in order.iter().skip(n + 1) {
            if let Some(word) = topology.connection(*a, *b).filter(|word| near(word)) {
                arcs.push((*a, *b, word));
            }
        }
    }
    if arcs.is_empty() {
        return bar.top();
    }
    let widest = arcs.iter().map(|(a, b, _)| (centre(*a) - centre(*b)).abs()).fold(1.0, f32::max);
    let room = if arcs.len() > 4 { 64.0 } else { 40.0 };
    let y = bar.top() + room + 14.0;
    let says_words = arcs.len() <= MOST_WORDS;
    for (a, b, word) in arcs {
        let (from, to) = (pos2(centre(a), y), pos2(centre(b), y));
        let height = room * (0.35 + 0.65 * (to.x - from.x).abs() / widest);
        let top = pos2(f32::midpoint(from.x, to.x), y - height);
        let points = (0..=16_u8)
            .map(|step| {
                let t = f32::from(step) / 16.0;
                // A parabola through the ends and the top.
                pos2(from.x + (to.x - from.x) * t, y - height * 4.0 * t * (1.0 - t))
            })
            .collect();
        let links = word.strip_prefix("NV").and_then(|n| n.parse::<u8>().ok()).unwrap_or(1);
        picture.wires.push(Wire {
            points,
            nvlink: is_nvlink(word),
            word: says_words.then(|| (top - vec2(0.0, 8.0), word.to_owned())),
            width: 1.0 + 0.5 * f32::from(links.min(4)),
        });
    }
    y
}

/// Cards in a column under the GPU they are nearest to. Returns where each GPU's column ends.
#[allow(clippy::too_many_arguments, reason = "the measures of one layout")]
fn cards_of_gpus(
    picture: &mut Picture,
    topology: &Topology,
    places: &[(usize, Place)],
    order: &[usize],
    centre: impl Fn(usize) -> f32,
    width: f32,
    top: f32,
    text: &Text,
) -> BTreeMap<usize, f32> {
    let mut ends = BTreeMap::new();
    for gpu in order {
        let cards: Vec<(usize, &str)> = places
            .iter()
            .filter_map(|(card, place)| match place {
                Place::Gpu(near, word) if near == gpu => Some((*card, word.as_str())),
                _ => None,
            })
            .collect();
        let mut y = top;
        for (n, (card, word)) in cards.iter().take(MOST_CARDS).enumerate() {
            let start = y;
            // The word is said once for cards with the same.
            let said = n == 0 || cards.get(n - 1).is_none_or(|(_, before)| before != word);
            y += if said { WIRE } else { GAP };
            let label = said.then(|| (pos2(centre(*gpu) + 3.0, start + WIRE / 2.0), (*word).to_owned()));
            picture.wires.push(plain(vec![pos2(centre(*gpu), start), pos2(centre(*gpu), y)], label));
            let rest = cards.len() - n;
            let (title, name) = if n + 1 == MOST_CARDS && rest > 1 {
                (format!("+{rest}"), fill(&text.hosts.more_cards, &[("n", rest.to_string())]))
            } else {
                let title = topology.parts.get(*card).map_or_else(String::new, |part| part.name.clone());
                let name = format!("{title}, {word}");
                (title, name)
            };
            let rect = Rect::from_min_size(pos2(centre(*gpu) - width / 2.0, y), vec2(width, CARD));
            picture.parts.push(Part { rect, kind: Kind::Card, title, name });
            y += CARD;
        }
        ends.insert(*gpu, y);
    }
    ends
}

/// Cards in rows under a box, with the word of their connection on the line to it. Returns where they end.
fn hanging_cards(
    picture: &mut Picture,
    topology: &Topology,
    cards: &[usize],
    under: Rect,
    word: &str,
    text: &Text,
) -> f32 {
    if cards.is_empty() {
        return under.bottom();
    }
    let per_row = ((under.width() + GAP) / (*PITCH.start() + GAP)).floor().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of boxes")]
    let per_row = (per_row as usize).min(cards.len());
    let width = ((under.width() + GAP) / float(per_row) - GAP).min(96.0);
    let top = under.bottom() + WIRE;
    let middle = under.center().x;
    let label = Some((pos2(middle + 3.0, under.bottom() + WIRE / 2.0), word.to_owned()));
    picture.wires.push(plain(vec![pos2(middle, under.bottom()), pos2(middle, top)], label));
    let mut bottom = top;
    for (row, chunk) in cards.chunks(per_row).enumerate() {
        let y = top + float(row) * (CARD + GAP);
        let used = float(chunk.len()) * (width + GAP) - GAP;
        for (idx, card) in chunk.iter().enumerate() {
            let title = topology.parts.get(*card).map_or_else(String::new, |part| part.name.clone());
            let x = middle - used / 2.0 + float(idx) * (width + GAP);
            let rect = Rect::from_min_size(pos2(x, y), vec2(width, CARD));
            let name = fill(&text.hosts.card_behind, &[("card", title.clone()), ("word", word.to_owned())]);
            picture.parts.push(Part { rect, kind: Kind::Card, title, name });
            bottom = rect.bottom();
        }
    }
    bottom
}

/// The line between the CPUs of two sockets.
fn between_sockets(picture: &mut Picture, topology: &Topology) {
    if topology.groups.len() < 2 {
        return;
    }
    let cpus: Vec<Rect> = picture.parts.iter().filter(|part| part.kind == Kind::Cpu).map(|part| part.rect).collect();
    for (a, b) in cpus.iter().zip(cpus.iter().skip(1)) {
        picture.wires.push(plain(vec![a.right_center(), b.left_center()], None));
    }
}

fn plain(points: Vec<Pos2>, word: Option<(Pos2, String)>) -> Wire {
    Wire { points, nvlink: false, word, width: 1.4 }
}

fn group_name(numa: Option<&str>, cpus: Option<&str>, text: &Text) -> String {
    let words = &text.hosts;
    let numa = numa.map(|numa| fill(&words.numa, &[("n", numa.to_owned())]));
    let cpus = cpus.map(|cpus| fill(&words.cpus, &[("list", cpus.to_owned())]));
    [numa, cpus].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[allow(clippy::cast_precision_loss, reason = "a handful of boxes")]
fn float(n: usize) -> f32 {
    n as f32
}

fn paint_wire(ui: &Ui, wire: &Wire, move_by: Vec2) {
    let t = tokens(ui);
    let color = if wire.nvlink { t.color.accent } else { t.color.text_muted };
    let points: Vec<Pos2> = wire.points.iter().map(|point| *point + move_by).collect();
    ui.painter().line(points, Stroke::new(wire.width, color));
    if let Some((at, word)) = &wire.word {
        // Beside an upright line, above an arc.
        let align = if wire.points.len() > 2 { Align2::CENTER_CENTER } else { Align2::LEFT_CENTER };
        ui.painter().text(*at + move_by, align, word, Font::Caption.id(), t.color.text_muted);
    }
}

fn paint_part(ui: &mut Ui, idx: usize, part: &Part, rect: Rect, state: Option<&GpuState>) {
    let t = tokens(ui);
    let response = ui.interact(rect, ui.scope_id().with(("topology part", idx)), Sense::focusable_noninteractive());
    let fault = state.and_then(|state| state.fault.as_ref());
    let (fill, stroke) = match (part.kind, fault) {
        (_, Some((mark, _))) => (mark.soft(&t.color), Stroke::new(1.6, mark.color(&t.color))),
        (Kind::Bar, _) => (t.color.bg_selected, Stroke::new(t.stroke.control, t.color.accent)),
        (Kind::Gpu(_), _) => (t.color.bg_raised, t.control_stroke()),
        (Kind::Card | Kind::Cpu, _) => (t.color.bg_inset, t.control_stroke()),
    };
    let painter = ui.painter();
    painter.rect(rect, CornerRadius::same(t.radius.button), fill, stroke, StrokeKind::Inside);
    let temperature = state.and_then(|state| state.temperature.as_deref());
    let font = match part.kind {
        Kind::Gpu(_) | Kind::Bar => Font::Subhead,
        Kind::Card | Kind::Cpu => Font::Caption,
    };
    let color = if matches!(part.kind, Kind::Cpu) { t.color.text_secondary } else { t.color.text_primary };
    let short = |words: &str, font: Font, color| {
        let mut job = egui::text::LayoutJob::simple_singleline(words.to_owned(), font.id(), color);
        job.wrap = egui::text::TextWrapping::truncate_at_width((rect.width() - 4.0).max(8.0));
        painter.layout_job(job)
    };
    let title = short(&part.title, font, color);
    let lift = if temperature.is_some() { 8.0 } else { 0.0 };
    painter.galley(rect.center() - title.size() / 2.0 - vec2(0.0, lift), title, color);
    if let Some(temperature) = temperature {
        let below = short(temperature, Font::Caption, t.color.text_secondary);
        painter.galley(rect.center() - below.size() / 2.0 + vec2(0.0, 9.0), below, t.color.text_secondary);
    }
    if let Some((mark, _)) = fault {
        paint_mark(ui, rect.right_top() + vec2(-1.0, 1.0), t.size.verdict, *mark, t.color.bg_panel);
    }
    let more = [temperature, fault.map(|(_, words)| words.as_str())];
    let name = [Some(part.name.as_str())].into_iter().chain(more).flatten().collect::<Vec<_>>().join(", ");
    response.widget_info(|| WidgetInfo::labeled(Role::Figure, true, &name));
    focus_ring(ui, &response, t.radius.button);
    response.on_hover_text(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::evidence::{Captured, CommandEnd};
    use crate::domain::text::Language;
    use crate::probe;

    fn capture(name: &str) -> Topology {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/topology").join(name);
        let out = Captured {
            command: String::new(),
            stdout: std::fs::read_to_string(path).unwrap(),
            stderr: String::new(),
            pollution: String::new(),
            ended: CommandEnd::Exit(0),
            took_secs: 0.1,
            masked: Vec::new(),
        };
        Topology::of(&probe::topology::PROBE.read(&out).facts).unwrap()
    }

    #[test]
    fn parts_of_every_capture_lie_on_the_canvas_and_apart() {
        for name in [
            "b200x8_16nics_ansi.txt",
            "h100x8_nic0_header_shifted.txt",
            "topo_mp_x8_12nics.txt",
            "v100x8_rented_nic.txt",
            "rtx4090x8_all_sys.txt",
            "pcie4_pxb_pix.txt",
            "dgx2_16gpu_first4rows.txt",
            "h200_single_ansi.txt",
            "rtx3090x2_nv2_noNuma.txt",
        ] {
            for width in [380.0, 480.0, 700.0] {
                let topology = capture(name);
                let picture = layout(&topology, width, Text::of(Language::En));
                let canvas = Rect::from_min_size(Pos2::ZERO, picture.size);
                for (n, part) in picture.parts.iter().enumerate() {
                    assert!(canvas.contains_rect(part.rect), "{name} at {width}: {} at {:?}", part.title, part.rect);
                    for other in picture.parts.iter().skip(n + 1) {
                        let overlap = part.rect.intersect(other.rect);
                        assert!(!overlap.is_positive(), "{name} at {width}: {} over {}", part.title, other.title);
                    }
                }
                let n_gpus = picture.parts.iter().filter(|part| matches!(part.kind, Kind::Gpu(_))).count();
                assert_eq!(n_gpus, topology.gpus().count(), "{name}");
            }
        }
    }

    #[test]
    fn eight_gpus_behind_switches_stand_over_their_cards_and_cpus() {
        let topology = capture("b200x8_16nics_ansi.txt");
        let picture = layout(&topology, 480.0, Text::of(Language::En));
        let bars: Vec<&str> =
            picture.parts.iter().filter(|part| part.kind == Kind::Bar).map(|part| part.title.as_str()).collect();
        assert_eq!(bars, ["NVLink · NV18 between all 28 pairs"]);
        let gpu = |n: u32| picture.parts.iter().find(|part| part.kind == Kind::Gpu(n)).unwrap().rect;
        let card = picture.parts.iter().find(|part| part.title == "mlx5_4").unwrap();
        assert_eq!(card.name, "mlx5_4, PXB");
        assert!((card.rect.center().x - gpu(0).center().x).abs() < 0.1 && card.rect.top() > gpu(0).bottom());
        let cpus: Vec<Rect> = picture.parts.iter().filter(|p| p.kind == Kind::Cpu).map(|p| p.rect).collect();
        assert_eq!(cpus.len(), 2);
        assert!(cpus[0].x_range().contains(gpu(3).center().x) && cpus[1].x_range().contains(gpu(4).center().x));
        let cards = picture.parts.iter().filter(|part| part.kind == Kind::Card).count();
        assert_eq!(cards, 16, "no card is left out");
    }

    #[test]
    fn pairs_without_a_switch_are_arcs_with_their_words_while_few() {
        let words = |name: &str| {
            let picture = layout(&capture(name), 480.0, Text::of(Language::En));
            let arcs = picture.wires.iter().filter(|wire| wire.points.len() > 2);
            arcs.map(|wire| wire.word.clone().map(|(_, word)| word)).collect::<Vec<_>>()
        };
        assert_eq!(words("pcie4_pxb_pix.txt"), [Some("PXB".to_owned()), Some("PIX".to_owned())]);
        assert_eq!(words("v100x8_rented_nic.txt"), vec![None; 16]);
        assert!(words("rtx4090x8_all_sys.txt").is_empty());
    }
}

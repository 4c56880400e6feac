//! Plots as SVG, written byte for byte the same for the same numbers: no time, no randomness, fixed decimals.

use std::fmt::Write as _;

use super::escape;
use super::palette::Palette;
use crate::domain::format;

/// A plot of one metric over the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Title with the unit ("TTFT p95, ms").
    pub title: String,
    /// Title of the horizontal axis with the unit.
    pub x_title: String,
    /// Whether the vertical axis is logarithmic; its title says so.
    pub log: bool,
    /// What is said about the vertical axis when it is logarithmic.
    pub log_words: String,
    /// Lines, each in the style of its candidate.
    pub series: Vec<Series>,
    /// A limit drawn across, with its words.
    pub limit: Option<Limit>,
}

/// One line of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Place in the series: colour, marker and dash.
    pub place: u8,
    /// Points with ascending x.
    pub points: Vec<Point>,
    /// Whether each point has a marker; lines of hundreds of samples have none.
    pub markers: bool,
    /// How the line is drawn.
    pub style: Style,
    /// A band around the line: x, low, high.
    pub band: Vec<(f64, f64, f64)>,
}

/// How a line is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Style {
    /// In the colour and dash of its candidate.
    Candidate,
    /// A model's line for its candidate: thin and dotted.
    Predicted,
    /// In a colour of its own ("#RRGGBB"), with dashes of this length or unbroken.
    Plain(String, Option<f32>),
}

impl Series {
    fn colour<'a>(&'a self, palette: &'a Palette) -> &'a str {
        match &self.style {
            Style::Plain(colour, _) => colour,
            Style::Candidate | Style::Predicted => palette.series(self.place),
        }
    }
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// 95 % interval of `y`.
    pub interval: Option<(f64, f64)>,
    /// The run does not count: hollow.
    pub hollow: bool,
}

/// A limit drawn across the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Where.
    pub value: f64,
    /// Its words ("SLO 500 ms").
    pub words: String,
}

const WIDTH: f64 = 560.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 16.0;
const PLOT_HEIGHT: f64 = 220.0;
const BOTTOM: f64 = 44.0;
const TITLE_HEIGHT: f64 = 26.0;
const LEGEND_ROW: f64 = 20.0;
/// The most ticks of an axis.
const MAX_TICKS: usize = 7;
/// How near a point may come to words on the plot, px.
const CLEARANCE: f64 = 16.0;

impl Plot {
    /// Whether there is anything to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// The plot as an `svg` element that needs nothing from outside.
    #[must_use]
    pub fn render(&self) -> String {
        Drawing::new(self).draw()
    }
}

/// A value's way to the picture.
#[derive(Debug, Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.max(self.from).log10() } else { value };
        let (from, to) = (of(self.from), of(self.to));
        self.start + (of(value) - from) / (to - from) * (self.end - self.start)
    }
}

struct Drawing<'a> {
    plot: &'a Plot,
    colours: &'static Palette,
    out: String,
    top: f64,
    height: f64,
    x: Scale,
    y: Scale,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
    legend: Vec<Vec<&'a Series>>,
}

impl<'a> Drawing<'a> {
    fn new(plot: &'a Plot) -> Self {
        let legend = legend_rows(&plot.series);
        let top = TITLE_HEIGHT + LEGEND_ROW * legend.len() as f64 + 10.0;
        let bottom = top + PLOT_HEIGHT;
        let points = || plot.series.iter().flat_map(|series| &series.points);
        let x_ticks = linear_ticks(0.0, max_of(points().map(|point| point.x)));
        let ys = || {
            points()
                .flat_map(|point| [point.y, point.interval.map_or(point.y, |(_, high)| high)])
                .chain(plot.series.iter().flat_map(|series| series.band.iter().map(|(_, _, high)| *high)))
                .chain(plot.limit.as_ref().map(|limit| limit.value))
                .filter(|y| y.is_finite())
        };
        let low = ys().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
        let log = plot.log && low.is_finite();
        let y_ticks = if log { log_ticks(low, max_of(ys())) } else { linear_ticks(0.0, max_of(ys())) };
        let scale = |ticks: &[f64], start: f64, end: f64, log: bool| Scale {
            from: ticks.first().copied().unwrap_or(0.0),
            to: ticks.last().copied().unwrap_or(1.0),
            start,
            end,
            log,
        };
        Self {
            plot,
            colours: Palette::light(),
            out: String::new(),
            top,
            height: bottom + BOTTOM,
            x: scale(&x_ticks, LEFT, WIDTH - RIGHT, false),
            y: scale(&y_ticks, bottom, top, log),
            x_ticks,
            y_ticks,
            legend,
        }
    }

    /// Adds a piece of the picture.
    fn put(&mut self, piece: &str) {
        self.out.push_str(piece);
        self.out.push('\n');
    }

    fn draw(mut self) -> String {
        let names: Vec<&str> = self.plot.series.iter().map(|series| series.name.as_str()).collect();
        self.put(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{0}\" height=\"{1}\" role=\"img\" \
             font-family=\"'IBM Plex Sans','Noto Sans SC',system-ui,sans-serif\" font-size=\"12\">",
            px(WIDTH),
            px(self.height)
        ));
        self.put(&format!("<title>{}</title>", escape::html(&self.plot.title)));
        self.put(&format!("<desc>{} · {}</desc>", escape::html(&self.plot.x_title), escape::html(&names.join(", "))));
        self.titles();
        self.grid();
        self.limit_line();
        for idx in 0..self.plot.series.len() {
            self.series(idx);
        }
        self.limit_words();
        self.put("</svg>");
        self.out
    }

    fn titles(&mut self) {
        let (primary, muted) = (&self.colours.text_primary, &self.colours.text_muted);
        let log = if self.y.log {
            format!(" <tspan font-weight=\"400\" fill=\"{muted}\">{}</tspan>", escape::html(&self.plot.log_words))
        } else {
            String::new()
        };
        let title = format!(
            "<text x=\"0\" y=\"16\" font-size=\"14\" font-weight=\"600\" fill=\"{primary}\">{}{log}</text>",
            escape::html(&self.plot.title)
        );
        self.put(&title);
        let x_title = format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{muted}\">{}</text>",
            px(WIDTH - RIGHT),
            px(self.height - 8.0),
            escape::html(&self.plot.x_title)
        );
        self.put(&x_title);
        for (row_idx, row) in std::mem::take(&mut self.legend).into_iter().enumerate() {
            let y = TITLE_HEIGHT + LEGEND_ROW * (row_idx as f64 + 0.5);
            let mut x = 0.0;
            for series in row {
                self.line_style(series, &format!("M{} {}H{}", px(x), px(y), px(x + 28.0)));
                if series.markers {
                    let hollow = series.points.iter().all(|point| point.hollow);
                    self.marker(series.place, x + 14.0, y, hollow);
                }
                let words = format!(
                    "<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>",
                    px(x + 34.0),
                    px(y + 4.0),
                    self.colours.text_primary,
                    escape::html(&series.name)
                );
                self.put(&words);
                x += legend_width(series);
            }
        }
    }

    fn grid(&mut self) {
        let (hairline, control, muted) =
            (&self.colours.stroke_subtle, &self.colours.stroke_control, &self.colours.text_muted);
        let mut out = String::new();
        for tick in &self.y_ticks {
            let y = self.y.at(*tick);
            // Writing into a string cannot fail.
            writeln!(
                out,
                "<path d=\"M{} {}H{}\" stroke=\"{hairline}\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"end\" \
                 fill=\"{muted}\">{}</text>",
                px(LEFT),
                px(y),
                px(WIDTH - RIGHT),
                px(LEFT - 8.0),
                px(y + 4.0),
                tick_words(*tick)
            )
            .ok();
        }
        let bottom = self.top + PLOT_HEIGHT;
        writeln!(out, "<path d=\"M{} {}H{}\" stroke=\"{control}\"/>", px(LEFT), px(bottom), px(WIDTH - RIGHT)).ok();
        for tick in &self.x_ticks {
            let x = self.x.at(*tick);
            writeln!(
                out,
                "<path d=\"M{} {}v4\" stroke=\"{control}\"/>\n<text x=\"{0}\" y=\"{}\" text-anchor=\"middle\" \
                 fill=\"{muted}\">{}</text>",
                px(x),
                px(bottom),
                px(bottom + 17.0),
                tick_words(*tick)
            )
            .ok();
        }
        self.out.push_str(&out);
    }

    fn limit_line(&mut self) {
        let Some(limit) = &self.plot.limit else { return };
        let line = format!(
            "<path d=\"M{} {}H{}\" stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"/>",
            px(LEFT),
            px(self.y.at(limit.value)),
            px(WIDTH - RIGHT),
            self.colours.fail
        );
        self.put(&line);
    }

    /// The limit's words where no point is near: above the line at its left end first.
    fn limit_words(&mut self) {
        let Some(limit) = &self.plot.limit else { return };
        let y = self.y.at(limit.value);
        // The words are semibold, which is wider.
        let width = text_width(&limit.words, 13.5);
        let (left, right) = (LEFT + 8.0, WIDTH - RIGHT - 8.0 - width);
        let places = [(left, y - 6.0), (right, y - 6.0), (left, y + 15.0), (right, y + 15.0)];
        let drawn: Vec<(f64, f64)> = self.plot.series.iter().flat_map(|series| self.along(series)).collect();
        let near = |(x, y): (f64, f64)| {
            let outside = y - 12.0 < self.top || y > self.top + PLOT_HEIGHT;
            let hit = |(px, py): &(f64, f64)| {
                let is_beside = *px < x - CLEARANCE || *px > x + width + CLEARANCE;
                !is_beside && *py > y - 10.0 - CLEARANCE && *py < y + CLEARANCE
            };
            (outside, drawn.iter().filter(|at| hit(at)).count())
        };
        let Some((x, y)) = places.into_iter().min_by_key(|place| near(*place)) else { return };
        let (fail, panel) = (&self.colours.fail, &self.colours.bg_panel);
        let words = format!(
            "<text x=\"{}\" y=\"{}\" font-weight=\"600\" fill=\"{fail}\" stroke=\"{panel}\" stroke-width=\"3\" \
             paint-order=\"stroke\">{}</text>",
            px(x),
            px(y),
            escape::html(&limit.words)
        );
        self.put(&words);
    }

    /// Places along a line: its points, and seven between each two.
    fn along(&self, series: &Series) -> Vec<(f64, f64)> {
        let at = |point: &Point| (self.x.at(point.x), self.y.at(point.y));
        let pairs = series.points.iter().zip(series.points.iter().skip(1));
        let between = pairs.flat_map(|(from, to)| {
            let ((x, y), (to_x, to_y)) = (at(from), at(to));
            (0..8).map(f64::from).map(move |part| (x + (to_x - x) * part / 8.0, y + (to_y - y) * part / 8.0))
        });
        between.chain(series.points.last().map(at)).collect()
    }

    fn series(&mut self, idx: usize) {
        let Some(series) = self.plot.series.get(idx) else { return };
        let shown = || series.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite());
        let mut path = String::new();
        for point in shown() {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            // Writing into a string cannot fail.
            write!(path, "{letter}{} {}", px(self.x.at(point.x)), px(self.y.at(point.y))).ok();
        }
        if path.is_empty() {
            return;
        }
        self.band(series);
        self.line_style(series, &path);
        for point in shown() {
            let x = self.x.at(point.x);
            if let Some((low, high)) = point.interval {
                let colour = series.colour(self.colours);
                let (top, bottom) = (self.y.at(high), self.y.at(low));
                let whisker = format!(
                    "<path d=\"M{} {}V{}M{} {1}h8M{3} {2}h8\" stroke=\"{colour}\" stroke-opacity=\"0.6\" fill=\"none\"/>",
                    px(x),
                    px(top),
                    px(bottom),
                    px(x - 4.0)
                );
                self.put(&whisker);
            }
            if series.markers {
                self.marker(series.place, x, self.y.at(point.y), point.hollow);
            }
        }
    }

    /// The band around a line, behind it.
    fn band(&mut self, series: &Series) {
        let band = || series.band.iter().filter(|(x, low, high)| [x, low, high].iter().all(|value| value.is_finite()));
        let at = |x: f64, y: f64| format!("{} {}", px(self.x.at(x)), px(self.y.at(y)));
        let above = band().map(|(x, _, high)| at(*x, *high));
        let below = band().rev().map(|(x, low, _)| at(*x, *low));
        let outline: Vec<String> = above.chain(below).collect();
        if outline.len() < 4 {
            return;
        }
        let colour = series.colour(self.colours);
        let area = format!("<path d=\"M{}Z\" fill=\"{colour}\" fill-opacity=\"0.14\"/>", outline.join("L"));
        self.put(&area);
    }

    /// A path in the style of its candidate.
    fn line_style(&mut self, series: &Series, path: &str) {
        let dash = match series.place % 4 {
            1 => " stroke-dasharray=\"9 5\"",
            2 => " stroke-dasharray=\"1 5\" stroke-linecap=\"round\"",
            3 => " stroke-dasharray=\"18 6\"",
            _ => "",
        };
        let (width, dash) = match &series.style {
            Style::Candidate => ("2", dash.to_owned()),
            Style::Predicted => ("1.5", " stroke-dasharray=\"1.5 4\" stroke-opacity=\"0.75\"".to_owned()),
            Style::Plain(_, None) => ("2", String::new()),
            Style::Plain(_, Some(length)) => ("2", format!(" stroke-dasharray=\"{length} {}\"", length * 0.6)),
        };
        let line = format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>",
            series.colour(self.colours)
        );
        self.put(&line);
    }

    fn marker(&mut self, place: u8, x: f64, y: f64, hollow: bool) {
        let colour = self.colours.series(place);
        let fill = if hollow { self.colours.bg_panel.as_str() } else { colour };
        let marker = format!(
            "<g transform=\"translate({} {})\">{}</g>",
            px(x),
            px(y),
            marker(place, &format!("fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\""))
        );
        self.put(&marker);
    }
}

/// The marker of a candidate around the origin, nine px wide, with these attributes.
#[must_use]
pub fn marker(place: u8, attributes: &str) -> String {
    match place % 8 {
        0 => format!("<circle r=\"4.2\" {attributes}/>"),
        1 => format!("<path d=\"M-3.9-3.9h7.8v7.8h-7.8z\" {attributes}/>"),
        2 => format!("<path d=\"M0-4.6L4.6 3.6H-4.6z\" {attributes}/>"),
        3 => format!("<path d=\"M0-5L5 0 0 5-5 0z\" {attributes}/>"),
        4 => format!("<path d=\"M0 4.6L-4.6-3.6H4.6z\" {attributes}/>"),
        5 => format!("<path d=\"M0-4.6V4.6M-4.6 0H4.6\" {attributes}/>"),
        6 => format!("<path d=\"M-3.8-3.8L3.8 3.8M-3.8 3.8L3.8-3.8\" {attributes}/>"),
        _ => format!("<path d=\"M0-4.6V4.6M-4-2.3L4 2.3M-4 2.3L4-2.3\" {attributes}/>"),
    }
}

/// A coordinate with one decimal, never a negative zero.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn max_of(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// At most seven ticks in steps of 1, 2, 2.5 or 5 × 10ⁿ from `low`, the last at or beyond `high`.
fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low { high - low } else { 1.0 };
    let power = 10_f64.powf((span / (MAX_TICKS - 1) as f64).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0, 20.0]
        .into_iter()
        // Halves of small steps have a decimal more than what is counted in them.
        .filter(|factor| *factor != 2.5 || power >= 10.0)
        .map(|factor| factor * power)
        .find(|step| (span / step - 1e-9).ceil() <= (MAX_TICKS - 1) as f64)
        .unwrap_or(span);
    let count = (span / step - 1e-9).ceil().max(1.0);
    (0..MAX_TICKS).map(|idx| idx as f64).take_while(|idx| *idx <= count).map(|idx| low + idx * step).collect()
}

/// At most seven ticks around `low..=high`: 1, 2 and 5 of each decade, or 1 and 3, or whole decades, or fewer.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (whole(low.log10().floor()), whole(high.max(low).log10().ceil()));
    let last = last.max(first + 1);
    for factors in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
        let all: Vec<f64> =
            (first..=last).flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade))).collect();
        let from = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let to = all.iter().position(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1).max(from + 1);
        let ticks: Vec<f64> = all.into_iter().skip(from).take(to + 1 - from).collect();
        if ticks.len() <= MAX_TICKS {
            return ticks;
        }
    }
    let skip = (last - first) / 6 + 1;
    (0..)
        .take(MAX_TICKS)
        .map(|idx| first + idx * skip)
        .take_while(|decade| *decade < last + skip)
        .map(|decade| 10_f64.powi(decade))
        .collect()
}

/// A small whole number as an integer.
#[allow(clippy::cast_possible_truncation, reason = "exponents of ten lie within ±400, and float casts saturate")]
fn whole(value: f64) -> i32 {
    value as i32
}

/// A tick in as few digits as it needs.
fn tick_words(tick: f64) -> String {
    let places = (0..6).find(|places| {
        let scaled = tick * 10_f64.powi(*places);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
    });
    format::fixed(tick, places.and_then(|places| usize::try_from(places).ok()).unwrap_or(6))
}

/// About how wide a text is, px: enough to lay out a legend without a font.
fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c < '\u{2e80}' { 0.56 } else { 1.0 } * size).sum()
}

fn legend_width(series: &Series) -> f64 {
    34.0 + text_width(&series.name, 12.0) + 22.0
}

/// Entries of the legend in rows; runs of one candidate share an entry.
fn legend_rows(all: &[Series]) -> Vec<Vec<&Series>> {
    let mut rows: Vec<Vec<&Series>> = Vec::new();
    let mut used = f64::INFINITY;
    for (idx, series) in all.iter().enumerate() {
        let same = |other: &Series| other.name == series.name && other.place == series.place;
        if series.points.is_empty() || all.iter().take(idx).any(|other| !other.points.is_empty() && same(other)) {
            continue;
        }
        let width = legend_width(series);
        if used + width > WIDTH {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(series);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, place: u8, points: &[(f64, f64)]) -> Series {
        let points = points.iter().map(|(x, y)| Point { x: *x, y: *y, interval: None, hollow: false }).collect();
        Series { name: name.into(), place, points, markers: true, style: Style::Candidate, band: Vec::new() }
    }

    fn plot(series: Vec<Series>) -> Plot {
        Plot {
            title: "TTFT p95, ms".into(),
            x_title: "offered arrival rate, req/s".into(),
            log: false,
            log_words: "logarithmic".into(),
            series,
            limit: None,
        }
    }

    #[test]
    fn linear_ticks_are_round_and_few() {
        for (high, want) in [
            (0.0, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0][..]),
            (1.0, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (7.0, &[0.0, 2.0, 4.0, 6.0, 8.0]),
            (14.0, &[0.0, 5.0, 10.0, 15.0]),
            (388.0, &[0.0, 100.0, 200.0, 300.0, 400.0]),
            (1234.0, &[0.0, 250.0, 500.0, 750.0, 1000.0, 1250.0]),
        ] {
            let got = linear_ticks(0.0, high);
            assert_eq!(got.len(), want.len(), "{high}: {got:?}");
            assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-9), "{high}: {got:?}");
        }
    }

    #[test]
    fn log_ticks_enclose_what_is_shown() {
        for (low, high, want) in [
            (20.0, 400.0, &[20.0, 50.0, 100.0, 200.0, 500.0][..]),
            (120.0, 130.0, &[100.0, 200.0]),
            (100.0, 100.0, &[100.0, 200.0]),
            (1.0, 900.0, &[1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]),
            (1.0, 90_000.0, &[1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]),
        ] {
            let got = log_ticks(low, high);
            assert_eq!(got.len(), want.len(), "{low}..{high}: {got:?}");
            assert!(got.iter().zip(want).all(|(got, want)| (got / want - 1.0).abs() < 1e-9), "{low}..{high}: {got:?}");
        }
        let wide = log_ticks(1e-3, 1e12);
        assert!(wide.len() <= MAX_TICKS && wide.first() <= Some(&1e-3) && wide.last() >= Some(&1e12), "{wide:?}");
    }

    #[test]
    fn ticks_have_the_digits_they_need() {
        for (tick, want) in [(0.0, "0"), (0.2, "0.2"), (2.5, "2.5"), (1250.0, "1,250"), (0.6000000000000001, "0.6")] {
            assert_eq!(tick_words(tick), want);
        }
    }

    #[test]
    fn hostile_names_and_numbers_stay_harmless() {
        let mut hostile = plot(vec![
            line("</svg><script>\u{1b}[31m\"'", 0, &[(1.0, f64::NAN), (2.0, 100.0), (f64::INFINITY, 3.0)]),
            line("", 3, &[]),
        ]);
        hostile.title = "<b>&".into();
        hostile.limit = Some(Limit { value: 500.0, words: "<i>".into() });
        let svg = hostile.render();
        for bad in ["<script", "\u{1b}", "<b>", "<i>", "NaN", "inf"] {
            assert!(!svg.contains(bad), "{bad} in {svg}");
        }
        assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;\\x1b[31m&quot;&#39;"));
        assert!(plot(vec![line("a", 0, &[])]).is_empty());
    }

    #[test]
    fn runs_of_one_candidate_share_a_legend_entry() {
        let all = [line("A", 0, &[(1.0, 1.0)]), line("A", 0, &[(2.0, 1.0)]), line("B", 1, &[(1.0, 1.0)])];
        let rows = legend_rows(&all);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn limit_words_avoid_points() {
        let mut crowded = plot(vec![line("A", 0, &[(0.0, 500.0), (1.0, 505.0), (10.0, 20.0)])]);
        crowded.limit = Some(Limit { value: 500.0, words: "SLO 500 ms".into() });
        let svg = crowded.render();
        let words = svg.lines().find(|line| line.contains(">SLO 500 ms<")).unwrap();
        let x: f64 = words.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(x > 300.0, "the words stand at the free end: {words}");
    }
}

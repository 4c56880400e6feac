//! A document as one HTML file that needs nothing from outside: no script, no font, no picture, no network.

use std::fmt::Write as _;

use super::doc::{Block, Doc, Line, Mark, Part, RowKind, Table};
use super::escape;
use super::palette::Palette;
use super::svg;
use crate::domain::figure::Origin;

/// Drawn once and used by reference: origin marks and verdict shapes, 16 × 16, in the colour of their place.
const SYMBOLS: &str = r##"<svg width="0" height="0" class="hidden" aria-hidden="true"><defs>
<symbol id="o-declared" viewBox="0 0 16 16"><rect x="2.5" y="2.5" width="11" height="11" fill="none" stroke="currentColor" stroke-width="2"/></symbol>
<symbol id="o-predicted" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="2.6 2.1"/></symbol>
<symbol id="o-measured" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="currentColor"/></symbol>
<symbol id="o-derived" viewBox="0 0 16 16"><path d="M8 0l8 8-8 8-8-8z" fill="currentColor"/></symbol>
<symbol id="o-derived-hollow" viewBox="0 0 16 16"><path d="M8 1.6L14.4 8 8 14.4 1.6 8z" fill="none" stroke="currentColor" stroke-width="2"/></symbol>
<symbol id="v-pass" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="currentColor"/><path d="M4.3 8.3l2.6 2.6 4.8-5.2" fill="none" stroke="#FFFFFF" stroke-width="1.8"/></symbol>
<symbol id="v-fail" viewBox="0 0 16 16"><rect x="0.5" y="0.5" width="15" height="15" rx="1.5" fill="currentColor"/><path d="M5 5l6 6M11 5l-6 6" stroke="#FFFFFF" stroke-width="1.8"/></symbol>
<symbol id="v-inconclusive" viewBox="0 0 16 16"><path d="M8 0l8 8-8 8-8-8z" fill="currentColor"/><path d="M4.6 8h6.8" stroke="#FFFFFF" stroke-width="1.8"/></symbol>
<symbol id="v-not-tested" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2.8 2.4"/></symbol>
<symbol id="v-stale" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="1.8"/><path d="M8 3.8V8l2.8 1.8" fill="none" stroke="currentColor" stroke-width="1.8"/></symbol>
<symbol id="v-waived" viewBox="0 0 16 16"><path d="M2 16V1" stroke="currentColor" stroke-width="2"/><path d="M3 1.5h11l-2.6 3.8L14 9H3z" fill="currentColor"/></symbol>
</defs></svg>
"##;

/// The document as HTML.
#[must_use]
pub fn render(doc: &Doc) -> String {
    let mut out = Writer { doc, out: String::new() };
    out.head();
    for block in &doc.blocks {
        out.block(block);
    }
    out.put("</main>\n</body>\n</html>\n");
    out.out
}

struct Writer<'a> {
    doc: &'a Doc,
    out: String,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn head(&mut self) {
        let title = escape::html(&self.doc.title);
        // Nothing in the file runs or loads, and nothing that got past the escaping could.
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        let head = format!(
            "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" \
             content=\"{policy}\">\n<meta name=\"color-scheme\" content=\"light\">\n<title>{title}</title>\n<style>\n{}{}\
             </style>\n</head>\n<body>\n{SYMBOLS}<main>\n<h1>{title}</h1>\n",
            escape::html(&self.doc.lang),
            Palette::light().css(),
            include_str!("style.css"),
        );
        self.put(&head);
        self.put("<nav><ol>\n");
        for block in &self.doc.blocks {
            if let Block::Chapter(number, title) = block {
                let entry = format!("<li><a href=\"#c{number}\">{number} {}</a></li>\n", escape::html(title));
                self.out.push_str(&entry);
            }
        }
        self.put("</ol></nav>\n");
    }

    fn block(&mut self, block: &Block) {
        let out = match block {
            Block::Banner(line) => format!("<p class=\"banner\" role=\"note\">{}</p>\n", self.line(line)),
            Block::Chapter(number, title) => {
                format!("<h2 id=\"c{number}\"><span class=\"n\">{number}</span>{}</h2>\n", escape::html(title))
            }
            Block::Part(line) => format!("<h3>{}</h3>\n", self.line(line)),
            Block::Para(line) => format!("<p>{}</p>\n", self.line(line)),
            Block::Note(line) => format!("<p class=\"note\">{}</p>\n", self.line(line)),
            Block::List(lines) => {
                let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", self.line(line))).collect();
                format!("<ul>\n{items}</ul>\n")
            }
            Block::Facts(facts) => {
                let fact = |(name, line): &(String, Line)| {
                    format!("<dt>{}</dt><dd>{}</dd>\n", escape::html(name), self.line(line))
                };
                format!("<dl>\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
            }
            Block::Formula(formula) => format!("<pre>{}</pre>\n", escape::html(formula)),
            Block::Table(table) => self.table(table),
            Block::Plot(plot, table) => format!("<figure>\n{}{}</figure>\n", plot.render(), self.table(table)),
        };
        self.put(&out);
    }

    fn table(&self, table: &Table) -> String {
        let mut out = format!(
            "<div class=\"scroll\"><table{}>\n<caption class=\"hidden\">{}</caption>\n<thead><tr>",
            match (table.roomy, table.even) {
                (true, true) => " class=\"roomy even\"",
                (true, false) => " class=\"roomy\"",
                (false, true) => " class=\"even\"",
                (false, false) => "",
            },
            escape::html(&table.name)
        );
        let class = |idx: usize| {
            let figures = table.heads.get(idx).is_some_and(|head| head.figures);
            match (figures, table.highlight == Some(idx)) {
                (true, true) => " class=\"f on\"",
                (true, false) => " class=\"f\"",
                (false, true) => " class=\"on\"",
                (false, false) => "",
            }
        };
        for (idx, head) in table.heads.iter().enumerate() {
            // Writing into a string cannot fail.
            write!(out, "<th scope=\"col\"{}>{}</th>", class(idx), self.line(&head.line)).ok();
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            let kind = match row.kind {
                RowKind::Normal => "",
                RowKind::Group => " class=\"group\"",
                RowKind::Total => " class=\"total\"",
                RowKind::Explaining => " class=\"explaining\"",
            };
            write!(out, "<tr{kind}>").ok();
            for (idx, cell) in row.cells.iter().enumerate() {
                let cell = self.line(cell);
                if row.kind == RowKind::Group {
                    write!(out, "<th scope=\"rowgroup\" colspan=\"{}\">{cell}</th>", table.heads.len()).ok();
                } else if idx == 0 {
                    write!(out, "<th scope=\"row\"{}>{cell}</th>", class(idx)).ok();
                } else {
                    write!(out, "<td{}>{cell}</td>", class(idx)).ok();
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    fn line(&self, line: &Line) -> String {
        let mut out = String::new();
        let mut before: Option<&Part> = None;
        let mut parts = line.0.iter().peekable();
        while let Some(part) = parts.next() {
            if before.is_some_and(|before| before.blank_before(part)) {
                out.push(' ');
            }
            // A mark and the words it marks stay on one line.
            let marked = parts.next_if(|next| part.is_mark() && next.is_short());
            match marked {
                Some(marked) => {
                    out.push_str("<span class=\"w\">");
                    out.push_str(&self.part(part));
                    out.push_str(&self.part(marked));
                    out.push_str("</span>");
                    before = Some(marked);
                }
                None => {
                    out.push_str(&self.part(part));
                    before = Some(part);
                }
            }
        }
        out
    }

    fn part(&self, part: &Part) -> String {
        match part {
            Part::Text(text) => words(text),
            Part::Whole(text) => tagged("span", " class=\"w\"", text),
            Part::Strong(text) => tagged("b", "", text),
            Part::Muted(text) => tagged("span", " class=\"u\"", text),
            Part::Bad(text) => tagged("span", " class=\"bad\"", text),
            Part::Mono(text) => tagged("span", " class=\"mono\"", text),
            Part::Origin(origin) => {
                let symbol = match origin {
                    Origin::Declared => "o-declared",
                    Origin::Predicted => "o-predicted",
                    Origin::Measured => "o-measured",
                    Origin::Derived { from_measured: true } => "o-derived",
                    Origin::Derived { from_measured: false } => "o-derived-hollow",
                };
                symbol_use("m", symbol, Some(self.doc.words.origin(*origin)))
            }
            Part::Badge(mark) => {
                let class = class_of(*mark);
                let shape = symbol_use("s", &format!("v-{class}"), None);
                let word = escape::html(self.doc.words.mark(*mark));
                format!("<span class=\"badge {class}\">{shape}{word}</span>")
            }
            Part::Shape(mark) => {
                let class = class_of(*mark);
                symbol_use(&format!("s {class}"), &format!("v-{class}"), None)
            }
            Part::Tally(mark, n) => {
                let class = class_of(*mark);
                let shape = symbol_use(&format!("s {class}"), &format!("v-{class}"), Some(self.doc.words.mark(*mark)));
                format!("<span class=\"tally\">{shape}{n}</span>")
            }
            Part::Series(place) => {
                let colour = Palette::light().series(*place);
                let marker =
                    svg::marker(*place, &format!("fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"1.5\""));
                format!("<svg class=\"k\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">{marker}</svg>")
            }
            Part::Cite(id) => format!("<span class=\"cite\">{}</span>", escape::html(&id.cite())),
            Part::Break => "<br>".to_owned(),
        }
    }
}

fn words(text: &str) -> String {
    escape::html(text).replace('\n', "<br>")
}

fn tagged(tag: &str, attributes: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<{tag}{attributes}>{}</{tag}>", words(text)) }
}

/// A symbol in place; with a word it is an image of its own, without one it stands beside its word.
fn symbol_use(class: &str, symbol: &str, word: Option<&str>) -> String {
    let role = match word {
        Some(word) => format!("role=\"img\" aria-label=\"{}\"", escape::html(word)),
        None => "aria-hidden=\"true\"".to_owned(),
    };
    format!("<svg class=\"{class}\" {role}><use href=\"#{symbol}\"/></svg>")
}

const fn class_of(mark: Mark) -> &'static str {
    match mark {
        Mark::Pass => "pass",
        Mark::Fail => "fail",
        Mark::Inconclusive => "inconclusive",
        Mark::NotTested => "not-tested",
        Mark::Stale => "stale",
        Mark::Waived => "waived",
    }
}

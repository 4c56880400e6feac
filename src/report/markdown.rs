//! A document as Markdown with tables, as GitHub writes them. Plots stand as pictures inside the file, after the text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::doc::{Block, Doc, Line, Mark, Part, Row, RowKind, Table};
use super::escape;
use crate::domain::figure::Origin;

/// The document as Markdown.
#[must_use]
pub fn render(doc: &Doc) -> String {
    let mut writer = Writer { doc, out: String::new(), pictures: Vec::new() };
    writer.put(&format!("# {}", escape::markdown(&doc.title)));
    for block in &doc.blocks {
        writer.block(block);
    }
    let pictures = std::mem::take(&mut writer.pictures);
    for (number, svg) in (1..).zip(pictures) {
        // Writing into a string cannot fail.
        writeln!(writer.out, "[plot-{number}]: data:image/svg+xml;base64,{}", STANDARD.encode(svg)).ok();
    }
    writer.out
}

struct Writer<'a> {
    doc: &'a Doc,
    out: String,
    pictures: Vec<String>,
}

impl Writer<'_> {
    /// Adds a block and the empty line after it.
    fn put(&mut self, block: &str) {
        self.out.push_str(block);
        self.out.push_str("\n\n");
    }

    fn block(&mut self, block: &Block) {
        let out = match block {
            Block::Banner(line) => format!("> {}", self.line(line)),
            Block::Chapter(number, title) => format!("## {number} {}", escape::markdown(title)),
            Block::Part(line) => format!("### {}", self.line(line)),
            Block::Para(line) | Block::Note(line) => escape::markdown_start(&self.line(line)),
            Block::List(lines) => {
                let items: Vec<String> =
                    lines.iter().map(|line| format!("- {}", escape::markdown_start(&self.line(line)))).collect();
                items.join("\n")
            }
            Block::Facts(facts) => {
                let fact =
                    |(name, line): &(String, Line)| format!("- **{}** {}", escape::markdown(name), self.line(line));
                facts.iter().map(fact).collect::<Vec<_>>().join("\n")
            }
            Block::Formula(formula) => {
                // Indented code cannot be ended from inside.
                escape::visible(formula).lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
            }
            Block::Table(table) => self.table(table),
            Block::Plot(plot, table) => {
                self.pictures.push(plot.render());
                let (title, number) = (escape::markdown(&plot.title), self.pictures.len());
                format!("![{title}][plot-{number}]\n\n{}", self.table(table))
            }
        };
        self.put(&out);
    }

    fn table(&self, table: &Table) -> String {
        let heads: Vec<String> = table.heads.iter().map(|head| self.line(&head.line)).collect();
        let rules: Vec<&str> = table.heads.iter().map(|head| if head.figures { "---:" } else { "---" }).collect();
        let mut out = format!("| {} |\n| {} |", heads.join(" | "), rules.join(" | "));
        for row in &table.rows {
            // Writing into a string cannot fail.
            write!(out, "\n| {} |", self.cells(row, table.heads.len()).join(" | ")).ok();
        }
        out
    }

    fn cells(&self, row: &Row, columns: usize) -> Vec<String> {
        let mut cells: Vec<String> = row.cells.iter().map(|cell| self.line(cell)).collect();
        if row.kind == RowKind::Group
            && let Some(first) = cells.first_mut()
        {
            *first = format!("**{first}**");
        }
        cells.resize(columns, String::new());
        cells
    }

    fn line(&self, line: &Line) -> String {
        let mut out = String::new();
        let mut before: Option<&Part> = None;
        for part in &line.0 {
            let is_after_mark =
                matches!(before, Some(Part::Origin(_) | Part::Shape(_))) && !matches!(part, Part::Break);
            if is_after_mark || before.is_some_and(|before| before.blank_before(part)) {
                out.push(' ');
            }
            out.push_str(&self.part(part));
            before = Some(part);
        }
        out.trim().to_owned()
    }

    fn part(&self, part: &Part) -> String {
        match part {
            Part::Text(text) | Part::Whole(text) | Part::Muted(text) | Part::Bad(text) | Part::Mono(text) => {
                escape::markdown(text)
            }
            Part::Strong(text) if text.trim().is_empty() => String::new(),
            Part::Strong(text) => format!("**{}**", escape::markdown(text.trim())),
            Part::Origin(origin) => match origin {
                Origin::Declared => "□",
                Origin::Predicted => "○",
                Origin::Measured => "●",
                Origin::Derived { from_measured: true } => "◆",
                Origin::Derived { from_measured: false } => "◇",
            }
            .to_owned(),
            Part::Badge(mark) => format!("{} {}", shape(*mark), escape::markdown(self.doc.words.mark(*mark))),
            Part::Shape(mark) => shape(*mark).to_owned(),
            Part::Tally(mark, n) => {
                format!("{} {n} {}", shape(*mark), escape::markdown(self.doc.words.mark(*mark)))
            }
            // The marker of a candidate lives in plots; in text its name says as much.
            Part::Series(_) => String::new(),
            Part::Cite(id) => format!("`{}`", id.cite().replace('`', "")),
            Part::Break => "<br>".to_owned(),
        }
    }
}

const fn shape(mark: Mark) -> &'static str {
    match mark {
        Mark::Pass => "✓",
        Mark::Fail => "✕",
        Mark::Inconclusive => "◈",
        Mark::NotTested => "◌",
        Mark::Stale => "◷",
        Mark::Waived => "⚑",
    }
}

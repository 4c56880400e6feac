//! A report as a document: headings, tables, plots, and lines made of parts. Chapters build it from the project; each
//! format only writes it down, so every format holds the same.

use crate::domain::acceptance::{Judged, Verdict, judge};
use crate::domain::figure::Origin;
use crate::domain::ids::EvidenceId;

use super::svg::Plot;

/// A whole document.
#[derive(Debug, Clone, PartialEq)]
pub struct Doc {
    /// Language tag ("zh-Hans").
    pub lang: String,
    /// Its title.
    pub title: String,
    /// What it holds, in order.
    pub blocks: Vec<Block>,
    /// Words for the marks, for readers who do not see them.
    pub words: MarkWords,
}

/// The words behind the marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkWords {
    /// Declared, predicted, measured, derived.
    pub origins: [String; 4],
    /// In the order of [`Mark`].
    pub marks: [String; 6],
}

impl MarkWords {
    /// The word of an origin.
    #[must_use]
    pub fn origin(&self, origin: Origin) -> &str {
        let [declared, predicted, measured, derived] = &self.origins;
        match origin {
            Origin::Declared => declared,
            Origin::Predicted => predicted,
            Origin::Measured => measured,
            Origin::Derived { .. } => derived,
        }
    }

    /// The word of a mark.
    #[must_use]
    pub fn mark(&self, mark: Mark) -> &str {
        let [pass, fail, inconclusive, not_tested, stale, waived] = &self.marks;
        match mark {
            Mark::Pass => pass,
            Mark::Fail => fail,
            Mark::Inconclusive => inconclusive,
            Mark::NotTested => not_tested,
            Mark::Stale => stale,
            Mark::Waived => waived,
        }
    }
}

/// The shape of a verdict or of a waiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named for the verdicts")]
pub enum Mark {
    Pass,
    Fail,
    Inconclusive,
    NotTested,
    Stale,
    Waived,
}

impl Mark {
    /// Every mark, in the order of a tally.
    pub const ALL: [Self; 6] = [Self::Pass, Self::Fail, Self::Inconclusive, Self::Stale, Self::NotTested, Self::Waived];

    /// The worst of these criteria: Fail, Inconclusive, Stale, NotTested, Waived, Pass; `None` without criteria.
    #[must_use]
    pub fn worst(judged: &[Judged]) -> Option<Self> {
        judge::overall(judged).map(|overall| overall.worst.into())
    }

    /// The mark of a judged criterion: the flag when a waiver is in force and it does not pass by itself.
    #[must_use]
    pub fn of(judged: &Judged) -> Self {
        judge::Standing::of(judged).into()
    }
}

impl From<judge::Standing> for Mark {
    fn from(standing: judge::Standing) -> Self {
        match standing {
            judge::Standing::Fail => Self::Fail,
            judge::Standing::Inconclusive => Self::Inconclusive,
            judge::Standing::Stale => Self::Stale,
            judge::Standing::NotTested => Self::NotTested,
            judge::Standing::Waived => Self::Waived,
            judge::Standing::Pass => Self::Pass,
        }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::NotTested => Self::NotTested,
            Verdict::Stale => Self::Stale,
        }
    }
}

/// One block of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Something that nobody may overlook.
    Banner(Line),
    /// A chapter begins: its number and title.
    Chapter(u8, String),
    /// A part of a chapter begins.
    Part(Line),
    /// A paragraph.
    Para(Line),
    /// A remark in small type.
    Note(Line),
    /// Several lines of equal rank.
    List(Vec<Line>),
    /// Names with their values.
    Facts(Vec<(String, Line)>),
    /// A formula or another text in fixed type.
    Formula(String),
    /// A table.
    Table(Table),
    /// A plot with the same numbers as a table.
    Plot(Box<Plot>, Table),
}

/// A table. Every row has as many cells as there are heads, but group rows, which have one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What the table is, for readers who do not see it.
    pub name: String,
    /// Heads of the columns.
    pub heads: Vec<Head>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Index of the column that stands out.
    pub highlight: Option<usize>,
    /// Whether rows are high, for a meeting.
    pub roomy: bool,
    /// Whether the columns after the first are equally wide: one a candidate.
    pub even: bool,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Its words.
    pub line: Line,
    /// Whether the column holds figures, aligned right.
    pub figures: bool,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is among the rows.
    pub kind: RowKind,
    /// Its cells.
    pub cells: Vec<Line>,
}

/// What a row is among the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// One of many.
    Normal,
    /// Names the rows below it; one cell.
    Group,
    /// A sum of the rows above it.
    Total,
    /// Explains other rows and is never added to anything.
    Explaining,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same table with columns of the same width after the first.
    #[must_use]
    pub const fn even(mut self) -> Self {
        self.even = true;
        self
    }

    /// The same table with one more column of words.
    #[must_use]
    pub fn words(mut self, head: impl Into<Line>) -> Self {
        self.heads.push(Head { line: head.into(), figures: false });
        self
    }

    /// The same table with one more column of figures.
    #[must_use]
    pub fn figures(mut self, head: impl Into<Line>) -> Self {
        self.heads.push(Head { line: head.into(), figures: true });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Line>) {
        self.rows.push(Row { kind: RowKind::Normal, cells });
    }

    /// Adds a row of another kind.
    pub fn row_of(&mut self, kind: RowKind, cells: Vec<Line>) {
        self.rows.push(Row { kind, cells });
    }

    /// Adds a row that names the rows below it.
    pub fn group(&mut self, name: impl Into<Line>) {
        self.rows.push(Row { kind: RowKind::Group, cells: vec![name.into()] });
    }
}

/// Words up to this many characters are not parted from the mark before them.
const SHORT: usize = 24;

/// A line of text, made of parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line(pub Vec<Part>);

/// A part of a line. Texts are as people and machines wrote them; formats make them safe.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Words or a number.
    Text(String),
    /// Words that stay on one line: a moment, a date.
    Whole(String),
    /// What the eye should find first.
    Strong(String),
    /// Units, remarks, what is not there.
    Muted(String),
    /// Beyond a limit; never by colour alone, so the words say it too.
    Bad(String),
    /// In fixed type.
    Mono(String),
    /// Where the number that follows comes from.
    Origin(Origin),
    /// A verdict as shape and word.
    Badge(Mark),
    /// The shape of a verdict beside words that say it.
    Shape(Mark),
    /// A verdict as shape and count.
    Tally(Mark, usize),
    /// Marker of a candidate by its place in the series.
    Series(u8),
    /// The citation of a record.
    Cite(EvidenceId),
    /// A new line inside the same cell or paragraph.
    Break,
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self(vec![Part::Text(text)])
    }
}

impl Line {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The same line with one more part.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.0.push(part);
        self
    }

    /// The same line with words or a number.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Part::Text(text.into()))
    }

    /// The same line with words that stay on one line.
    #[must_use]
    pub fn whole(self, text: impl Into<String>) -> Self {
        self.with(Part::Whole(text.into()))
    }

    /// The same line with words that stand out.
    #[must_use]
    pub fn strong(self, text: impl Into<String>) -> Self {
        self.with(Part::Strong(text.into()))
    }

    /// The same line with a unit or a remark.
    #[must_use]
    pub fn muted(self, text: impl Into<String>) -> Self {
        self.with(Part::Muted(text.into()))
    }

    /// The same line with something beyond a limit.
    #[must_use]
    pub fn bad(self, text: impl Into<String>) -> Self {
        self.with(Part::Bad(text.into()))
    }

    /// The same line with the origin of the number that follows.
    #[must_use]
    pub fn origin(self, origin: Origin) -> Self {
        self.with(Part::Origin(origin))
    }

    /// The same line with a verdict.
    #[must_use]
    pub fn badge(self, mark: Mark) -> Self {
        self.with(Part::Badge(mark))
    }

    /// The same line going on below.
    #[must_use]
    pub fn br(self) -> Self {
        self.with(Part::Break)
    }

    /// The same line with citations of these records.
    #[must_use]
    pub fn cites<'a>(mut self, records: impl IntoIterator<Item = &'a EvidenceId>) -> Self {
        self.0.extend(records.into_iter().map(|id| Part::Cite(id.clone())));
        self
    }

    /// The same line with the parts of another one.
    #[must_use]
    pub fn line(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// A number with its origin and unit.
    #[must_use]
    pub fn number(origin: Origin, value: impl Into<String>, unit: &str) -> Self {
        let line = Self::new().origin(origin).text(value);
        if unit.is_empty() { line } else { line.muted(unit) }
    }

    /// Words for something that is not there.
    #[must_use]
    pub fn absent(words: impl Into<String>) -> Self {
        Self::new().muted(words)
    }
}

impl Part {
    /// Whether this is a mark that belongs to what follows.
    #[must_use]
    pub const fn is_mark(&self) -> bool {
        matches!(self, Self::Origin(_) | Self::Shape(_) | Self::Series(_))
    }

    /// Whether these are words that fit on a line with a mark before them.
    #[must_use]
    pub fn is_short(&self) -> bool {
        match self {
            Self::Text(text) | Self::Strong(text) | Self::Muted(text) | Self::Bad(text) => {
                text.chars().count() <= SHORT && !text.contains('\n')
            }
            _ => false,
        }
    }

    /// Whether a blank belongs between this part and the next one. After a mark formats leave their own gap.
    #[must_use]
    pub fn blank_before(&self, next: &Self) -> bool {
        let is_words = |part: &Self| matches!(part, Self::Text(_) | Self::Whole(_) | Self::Strong(_));
        let ends_blank = match self {
            Self::Text(text) | Self::Strong(text) | Self::Muted(text) | Self::Bad(text) => {
                text.is_empty() || text.ends_with(char::is_whitespace)
            }
            _ => false,
        };
        let begins_blank = match next {
            Self::Text(text) | Self::Strong(text) | Self::Muted(text) | Self::Bad(text) => {
                text.is_empty() || text.starts_with(char::is_whitespace)
            }
            _ => false,
        };
        let is_break = *self == Self::Break || *next == Self::Break;
        !(is_break || self.is_mark() || ends_blank || begins_blank || (is_words(self) && is_words(next)))
    }
}

//! The catalogue of models: rows of facts, found by name or by an alias that is kept as data.
//!
//! A name selects a row and nothing more. It is compared whole, without regard to case; nothing is guessed from it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::facts::{BadFact, ModelFacts};

const MODELS: &str = include_str!("../../../assets/memory/models.csv");
const MORE: &str = include_str!("../../../assets/memory/models-more.csv");
const FAMILIES: &str = include_str!("../../../assets/memory/models-families.csv");
const ALIASES: &str = include_str!("../../../assets/memory/aliases.csv");
const FAMILY_ALIASES: &str = include_str!("../../../assets/memory/aliases-families.csv");

/// The most rows a catalogue is read to.
const MAX_ROWS: usize = 100_000;

/// Rows of facts.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    rows: Vec<ModelFacts>,
    /// Lower-case name or alias to the place in `rows`.
    by_name: HashMap<String, usize>,
    /// What was left out while it was read, in order: the row's name (empty for the head), and why.
    notes: Vec<(String, BadFact)>,
}

/// Why a table could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Not a table: the reader's words.
    #[error("the table cannot be read as CSV: {0}")]
    Csv(String),
    /// No column says which row is which.
    #[error("the table has no column \"model\"")]
    NoModelColumn,
}

impl Catalogue {
    /// The catalogue that comes with the program, read once.
    #[must_use]
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
            // The tests hold both tables, so nothing is lost here.
            let mut catalogue = Catalogue::parse(MODELS).unwrap_or_default();
            for facts in [MORE, FAMILIES].into_iter().flat_map(|more| Catalogue::parse(more).unwrap_or_default().rows) {
                catalogue.complete(facts);
            }
            catalogue.add_aliases(ALIASES);
            catalogue.add_aliases(FAMILY_ALIASES);
            catalogue
        });
        &BUILTIN
    }

    /// Reads a table with the columns of `models.csv` in any order. A missing column is not known; an unknown one, and
    /// a value that cannot be, are left out and named in [`Self::notes`].
    ///
    /// # Errors
    /// When the text is no table or no column is called `model`.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let text = text.trim_start_matches('\u{feff}');
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let head = reader.headers().map_err(csv_error)?.clone();
        if !head.iter().any(|column| column.trim() == "model") {
            return Err(CatalogueError::NoModelColumn);
        }
        let mut catalogue = Self::default();
        for column in head.iter().map(str::trim).filter(|column| !ModelFacts::COLUMNS.contains(column)) {
            let column = column.chars().take(200).collect();
            catalogue.notes.push((String::new(), BadFact::UnknownColumn(column)));
        }
        for record in reader.records().take(MAX_ROWS) {
            let record = record.map_err(csv_error)?;
            let known =
                head.iter().zip(record.iter()).filter(|(column, _)| ModelFacts::COLUMNS.contains(&column.trim()));
            let (facts, bad) = ModelFacts::from_row(known);
            catalogue.notes.extend(bad.into_iter().map(|bad| (facts.model.clone(), bad)));
            if !facts.model.is_empty() {
                catalogue.push(facts);
            }
        }
        Ok(catalogue)
    }

    /// The rows in order.
    #[must_use]
    pub fn rows(&self) -> &[ModelFacts] {
        &self.rows
    }

    /// What was left out while the table was read: the row's name, and why.
    #[must_use]
    pub fn notes(&self) -> &[(String, BadFact)] {
        &self.notes
    }

    /// The row of this name, or of the alias that has this name; `None` when nothing has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ModelFacts> {
        self.by_name.get(&key(name)).and_then(|idx| self.rows.get(*idx))
    }

    /// Adds a row; one of the same name takes the place of the old.
    pub fn push(&mut self, facts: ModelFacts) {
        match self.by_name.get(&key(&facts.model)).and_then(|idx| self.rows.get_mut(*idx)) {
            Some(old) => *old = facts,
            None => {
                self.by_name.insert(key(&facts.model), self.rows.len());
                self.rows.push(facts);
            }
        }
    }

    /// Adds the rows of another catalogue: its names win. What the columns of `models.csv` cannot tell is kept from the
    /// row of the same name.
    pub fn overlay(&mut self, other: &Self) {
        for facts in &other.rows {
            let mut facts = facts.clone();
            if let Some(old) = self.find(&facts.model) {
                facts.fill_more(old);
            }
            self.push(facts);
        }
        self.notes.extend(other.notes.iter().cloned());
    }

    /// Fills what a row of this name does not know, or adds the row.
    fn complete(&mut self, facts: ModelFacts) {
        match self.by_name.get(&key(&facts.model)).and_then(|idx| self.rows.get_mut(*idx)) {
            Some(old) => old.fill(&facts),
            None => self.push(facts),
        }
    }

    fn add_aliases(&mut self, text: &str) {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for record in reader.records().flatten() {
            let (Some(alias), Some(model)) = (record.get(0), record.get(1)) else { continue };
            if let Some(idx) = self.by_name.get(&key(model)).copied() {
                self.by_name.entry(key(alias)).or_insert(idx);
            }
        }
    }
}

fn key(name: &str) -> String {
    name.trim().to_lowercase()
}

#[allow(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn csv_error(error: csv::Error) -> CatalogueError {
    CatalogueError::Csv(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_tables_are_whole() {
        for table in [MODELS, MORE, FAMILIES] {
            assert_eq!(Catalogue::parse(table).unwrap().notes(), []);
        }
        let builtin = Catalogue::builtin();
        assert!(builtin.rows().len() >= 146);
        for record in
            [ALIASES, FAMILY_ALIASES].iter().flat_map(|table| csv::Reader::from_reader(table.as_bytes()).into_records())
        {
            let record = record.unwrap();
            assert!(builtin.find(&record[1]).is_some(), "alias of nothing: {record:?}");
            assert!(!record[2].is_empty(), "alias without origin: {record:?}");
        }
        assert!(builtin.rows().iter().all(|facts| !facts.origin.is_empty()));
    }

    #[test]
    fn a_name_is_compared_whole_without_case() {
        let builtin = Catalogue::builtin();
        assert_eq!(builtin.find(" qwen/QWEN3-8b ").unwrap().model, "Qwen/Qwen3-8B");
        assert!(builtin.find("Qwen3").is_none());
        assert!(builtin.find("").is_none());
    }

    #[test]
    fn broken_tables_say_what_is_wrong() {
        assert_eq!(Catalogue::parse("a,b\n1,2\n").unwrap_err(), CatalogueError::NoModelColumn);
        assert_eq!(Catalogue::parse("").unwrap_err(), CatalogueError::NoModelColumn);
        let table = Catalogue::parse("model,layers,colour\nx,2,red\ny,many,blue\n,3,\nz\n").unwrap();
        let names: Vec<_> = table.rows().iter().map(|facts| (facts.model.as_str(), facts.layers)).collect();
        assert_eq!(names, [("x", Some(2)), ("y", None), ("z", None)]);
        let notes: Vec<_> = table.notes().iter().map(|(row, bad)| format!("{row}: {bad}")).collect();
        assert_eq!(
            notes,
            [
                ": column \"colour\" is not known and was left out",
                "y: layers \"many\" is not a whole number from 1 to 100000; it counts as not known",
            ]
        );
    }

    #[test]
    fn an_overlay_wins() {
        let mut both = Catalogue::parse("model,layers\na,1\nb,2\n").unwrap();
        both.overlay(&Catalogue::parse("model,hidden\nB,7\nc,8\n").unwrap());
        let rows: Vec<_> = both.rows().iter().map(|f| (f.model.as_str(), f.layers, f.hidden)).collect();
        assert_eq!(rows, [("a", Some(1), None), ("B", None, Some(7)), ("c", None, Some(8))]);
    }
}

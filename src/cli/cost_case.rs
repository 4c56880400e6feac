//! `leasebench cost-case FILE|FOLDER`: answers the questions of cost cases and holds them against what the cases expect.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::domain::cost::{self, Answer, Answered, CaseError, Differs, Outcomes, exact_text};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::{Text, fill};

use super::out;

/// The largest case that is read.
const CAP: u64 = 4 << 20;

/// What is evaluated.
#[derive(Debug, Args)]
pub(super) struct CostCaseArgs {
    /// A cost case, or a folder of them (every .ron file in it).
    path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape {
    cases: Vec<CaseShape>,
    unreadable: Vec<UnreadableShape>,
    agreed: usize,
    total: usize,
}

#[derive(Serialize)]
struct CaseShape {
    file: String,
    id: String,
    title: String,
    agrees: bool,
    answers: Vec<AnswerShape>,
}

#[derive(Serialize)]
struct AnswerShape {
    question: String,
    /// Which of the fields below there are.
    kind: &'static str,
    /// The answer as people read it.
    shown: String,
    /// Exact decimal text, or a fraction where there is no finite decimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<String>,
    /// Numbers or dates in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<String>,
    agrees: bool,
    /// What the answer has against what was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
}

#[derive(Serialize)]
struct UnreadableShape {
    file: String,
    line: usize,
    column: usize,
    text: String,
}

/// Exit status 0 when every answer is the expected one, 1 when some are not, 2 when a case could not be read.
pub(super) fn run(args: &CostCaseArgs, text: &Text) -> Result<ExitCode, Failure> {
    let files = files(&args.path)?;
    let mut shape = Shape { cases: Vec::new(), unreadable: Vec::new(), agreed: 0, total: files.len() };
    let mut n_answers = 0;
    for file in files {
        let name = file.display().to_string();
        match evaluate(&file)? {
            Ok(outcomes) => {
                n_answers += outcomes.answers.len();
                shape.agreed += usize::from(outcomes.agree());
                if !args.json {
                    lines(&outcomes, text);
                }
                shape.cases.push(case_shape(name, outcomes, text));
            }
            Err(error) => {
                if !args.json {
                    out::failure(text, &failure(&error, &file));
                }
                shape.unreadable.push(UnreadableShape {
                    file: name,
                    line: error.line,
                    column: error.column,
                    text: error.text,
                });
            }
        }
    }
    let code = if !shape.unreadable.is_empty() { out::WRONG_USE } else { u8::from(shape.agreed != shape.total) };
    if args.json {
        out::json(&shape)?;
    } else {
        let counts = [
            ("agreed", shape.agreed.to_string()),
            ("total", shape.total.to_string()),
            ("answers", n_answers.to_string()),
        ];
        out::line(&fill(&text.cli.case_total, &counts));
    }
    Ok(ExitCode::from(code))
}

/// The file, or every case of the folder in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable =
        |cause: &dyn ToString| Failure::new(FailureKind::FileUnreadable).because(cause.to_string()).at(path.display());
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut out = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(&error))? {
        let file = entry.map_err(|error| unreadable(&error))?.path();
        if file.extension().is_some_and(|extension| extension == "ron") {
            out.push(file);
        }
    }
    if out.is_empty() {
        return Err(unreadable(&"the folder holds no .ron file"));
    }
    out.sort();
    Ok(out)
}

/// The answers of one case, or what is wrong with it.
fn evaluate(file: &Path) -> Result<Result<Outcomes, CaseError>, Failure> {
    use std::io::Read as _;

    let unreadable =
        |cause: &dyn ToString| Failure::new(FailureKind::FileUnreadable).because(cause.to_string()).at(file.display());
    let open = std::fs::File::open(file).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    open.take(CAP + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > CAP {
        return Err(unreadable(&"a cost case is at most 4 MiB"));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..good).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let text = format!("byte {} is not UTF-8", good + 1);
            return Ok(Err(CaseError { line, column: 1, text }));
        }
    };
    Ok(cost::read_case(&text).and_then(|case| cost::answer(&case)))
}

fn failure(error: &CaseError, file: &Path) -> Failure {
    Failure::new(FailureKind::CostCaseMalformed)
        .with("line", error.line)
        .with("column", error.column)
        .because(&error.text)
        .at(file.display())
}

/// One line a question.
fn lines(outcomes: &Outcomes, text: &Text) {
    for one in &outcomes.answers {
        let values = [
            ("case", outcomes.id.clone()),
            ("question", one.name.clone()),
            ("answer", one.answer.to_string()),
            ("why", one.differs.as_ref().map(|differs| words(differs, text)).unwrap_or_default()),
        ];
        let words = if one.differs.is_none() { &text.cli.case_agrees } else { &text.cli.case_differs };
        out::line(&out::visible(&fill(words, &values)));
    }
}

/// What an answer has against what was expected.
fn words(differs: &Differs, text: &Text) -> String {
    match differs {
        Differs::Expected(want) => fill(&text.cli.case_expected, &[("expected", want.to_string())]),
        Differs::AtLeast(least) => fill(&text.cli.case_at_least, &[("expected", exact_text(least))]),
        Differs::Mistake(mistake) => fill(&text.cli.case_mistake, &[("mistake", mistake.clone())]),
    }
}

fn case_shape(file: String, outcomes: Outcomes, text: &Text) -> CaseShape {
    let agrees = outcomes.agree();
    let answers = outcomes.answers.into_iter().map(|one| answer_shape(one, text)).collect();
    CaseShape { file, id: outcomes.id, title: outcomes.title, agrees, answers }
}

fn answer_shape(one: Answered, text: &Text) -> AnswerShape {
    let mut shape = AnswerShape {
        question: one.name,
        kind: "number",
        shown: one.answer.to_string(),
        value: None,
        low: None,
        high: None,
        values: None,
        why: None,
        about: None,
        at_least: None,
        agrees: one.differs.is_none(),
        differs: one.differs.as_ref().map(|differs| words(differs, text)),
    };
    match one.answer {
        Answer::Number(value) => shape.value = Some(exact_text(&value)),
        Answer::Span(low, high) => {
            shape.kind = "span";
            shape.low = Some(exact_text(&low));
            shape.high = Some(exact_text(&high));
        }
        Answer::Numbers(values) => {
            shape.kind = "numbers";
            shape.values = Some(values.iter().map(exact_text).collect());
        }
        Answer::Dates(dates) => {
            shape.kind = "dates";
            shape.values = Some(dates.iter().map(ToString::to_string).collect());
        }
        Answer::Yes(yes) => {
            shape.kind = "yes_or_no";
            shape.value = Some(if yes { "yes" } else { "no" }.to_owned());
        }
        Answer::Name(name) => {
            shape.kind = "name";
            shape.value = Some(name);
        }
        Answer::None(none) => {
            shape.kind = "no_value";
            shape.why = Some(none.why.key());
            shape.about = Some(none.about);
            shape.at_least = none.at_least.as_ref().map(exact_text);
        }
    }
    shape
}

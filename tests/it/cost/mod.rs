//! The cost engine: worked cases, laws, bad input, and the month of an offer.

mod bad;
mod laws;
mod offer;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use leasebench::domain::cost::{self, Answer, Wanted};

/// The cases of this project.
fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cost_cases")
}

/// Every case of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ron"))
        .collect();
    files.sort();
    files
}

/// Evaluates every case in `tests/cost_cases`, or in the folder that `LEASEBENCH_COST_CASES` names, and prints a line for
/// each and how many agreed.
#[test]
fn worked_cases() {
    let folder = std::env::var_os("LEASEBENCH_COST_CASES").map_or_else(own_folder, PathBuf::from);
    let files = files(&folder);
    assert!(!files.is_empty(), "{} holds no case", folder.display());
    let mut agreed = 0;
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let found = match cost::read_case(&text).and_then(|case| cost::answer(&case)) {
            Err(error) => vec![error.to_string()],
            Ok(outcomes) => outcomes
                .answers
                .iter()
                .filter_map(|one| {
                    one.differs.as_ref().map(|differs| format!("{}: {} {differs:?}", one.name, one.answer))
                })
                .collect(),
        };
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if found.is_empty() {
            agreed += 1;
            println!("{name}: agrees");
        } else {
            println!("{name}: {}", found.join("; "));
            wrong.push(name);
        }
    }
    println!("{agreed} of {} cases agree", files.len());
    assert!(wrong.is_empty(), "these cases differ: {}", wrong.join(", "));
}

/// What the free-form list of cases says is what the written cases assert: same cases, outputs, values and mistakes.
#[test]
fn the_written_cases_are_those_of_the_list() {
    let list: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(own_folder().join("cases.json")).unwrap()).unwrap();
    let mut ids = BTreeSet::new();
    for listed in list["cases"].as_array().unwrap() {
        let id = listed["id"].as_str().unwrap();
        ids.insert(format!("{id}.ron"));
        let text = fs::read_to_string(own_folder().join(format!("{id}.ron"))).unwrap();
        let case = cost::read_case(&text).unwrap_or_else(|error| panic!("{id}: {error}"));
        let same = |field: &str, own: &str| assert_eq!(listed[field].as_str().unwrap(), own, "{id}: {field}");
        same("id", &case.id);
        same("family", &case.family);
        same("title", &case.title);
        same("from", &case.from);
        let questions: BTreeMap<&str, &cost::Question> =
            case.questions.iter().map(|question| (question.name.as_str(), question)).collect();
        for (output, value) in listed["expected"].as_object().unwrap() {
            let question = questions.get(output.as_str()).unwrap_or_else(|| panic!("{id}: {output} is not asked"));
            assert!(is_listed(question.expect.as_ref().unwrap(), value), "{id}: {output} expects another value");
        }
        let mut listed_wrong = BTreeSet::new();
        for wrong in listed["wrong"].as_array().unwrap() {
            let field = |name: &str| wrong[name].as_str().unwrap().to_owned();
            listed_wrong.insert((field("of"), field("value"), field("mistake")));
        }
        let own_wrong: BTreeSet<_> = case
            .questions
            .iter()
            .flat_map(|one| one.wrong.iter().map(|wrong| (one.name.clone(), wrong.text.clone(), wrong.mistake.clone())))
            .collect();
        assert_eq!(own_wrong, listed_wrong, "{id}: the mistakes differ");
    }
    let own: BTreeSet<String> =
        files(&own_folder()).iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert!(ids.is_subset(&own), "not written: {:?}", ids.difference(&own));
}

/// Whether a written expectation is the listed value.
fn is_listed(own: &Wanted, listed: &serde_json::Value) -> bool {
    if listed["undefined"] == true {
        return *own == Wanted::NoValue || matches!(own, Wanted::Is(Answer::None(_)));
    }
    let text = match listed {
        serde_json::Value::Bool(true) => "yes".to_owned(),
        serde_json::Value::Bool(false) => "no".to_owned(),
        serde_json::Value::Array(dates) => {
            dates.iter().map(|date| date.as_str().unwrap()).collect::<Vec<_>>().join(", ")
        }
        other => other["exact"].as_str().or(other["fraction"].as_str()).unwrap().to_owned(),
    };
    *own == Wanted::parse(&text).unwrap()
}

/// The example in the description of the format is a case that agrees.
#[test]
fn the_described_example_agrees() {
    let text = fs::read_to_string(own_folder().join("README.md")).unwrap();
    let example = text.split("```ron\n").nth(1).unwrap().split("```").next().unwrap();
    let outcomes = cost::answer(&cost::read_case(example).unwrap()).unwrap();
    assert!(outcomes.agree(), "{:?}", outcomes.answers);
}

/// A case of one question, with its answer as text.
fn ask(body: &str, question: &str) -> String {
    let text = format!("(id: \"t\", {body} questions: [(name: \"q\", ask: {question})])");
    match cost::read_case(&text).and_then(|case| cost::answer(&case)) {
        Ok(outcomes) => outcomes.answers[0].answer.to_string(),
        Err(error) => error.text,
    }
}

/// Statuses and lines of the verb as scripts meet them.
#[test]
fn the_verb_tells_what_agrees() {
    use crate::cli::{leasebench, told};

    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("cases");
    fs::create_dir(&folder).unwrap();
    let path = folder.to_str().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let run = |args: &[&str]| told(&leasebench(temp.path(), args).output().unwrap());

    write(
        "a.ron",
        r#"(id: "a", currency: "USD", charges: [(amount: "2")], questions: [(name: "sum", ask: amount(), expect: "2")])"#,
    );
    let (code, out, err) = run(&["cost-case", path]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "agrees   a · sum  2\n1 of 1 case agrees, 1 answer\n", ""));

    write(
        "b.ron",
        r#"(id: "b", currency: "USD", charges: [(amount: "2")], questions: [(name: "sum", ask: amount(), expect: "3")])"#,
    );
    let (code, out, err) = run(&["cost-case", path]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (1, "agrees   a · sum  2\ndiffers  b · sum  2: 3 was expected\n1 of 2 cases agree, 2 answers\n", "")
    );

    write("c.ron", "(id: \"c\",\n questions: 3)");
    let (code, out, err) = run(&["cost-case", path, "--json"]);
    assert_eq!((code, err.as_str()), (2, ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["agreed"], &json["total"]), (&1.into(), &3.into()));
    assert_eq!(json["cases"][0]["answers"][0]["value"], "2");
    assert_eq!(json["unreadable"][0]["line"], 2);
}

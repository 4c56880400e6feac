//! The two long forms of `nvidia-smi -q`: XML (`-x`) and indented text, read into one kind of tree.
//!
//! The driver's element names and labels differ between branches and even inside one, so nothing is decided by a
//! version: readers look for the element that is there.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Deeper nesting than this is refused; the driver uses seven levels.
const MAX_DEPTH: usize = 40;
/// More elements than this are refused; eight GPUs with their clock tables have 5,000.
const MAX_NODES: usize = 400_000;

/// An element or a labelled line, with what stands under it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Element name, or label of a line.
    pub name: String,
    /// The `id` attribute, or the bus id behind `GPU` in the text form.
    pub id: Option<String>,
    /// Text, trimmed; empty for a group.
    pub text: String,
    /// What stands under it, in order.
    pub children: Vec<Node>,
}

impl Node {
    fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The first child with this name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The node at a path of names with `/` between them; `**` stands for any depth.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Self> {
        match path.split_once('/') {
            None => self.child(path),
            Some(("**", rest)) => self.at(rest).or_else(|| self.children.iter().find_map(|child| child.at(path))),
            Some((name, rest)) => {
                self.children.iter().filter(|child| child.name == name).find_map(|child| child.at(rest))
            }
        }
    }

    /// Every child with this name, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// A document and what stood round it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The root.
    pub root: Node,
    /// Text before and after the document: login banners, warnings.
    pub around: [&'a str; 2],
}

/// Why there is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nothing in the text begins like one.
    NotThere,
    /// It begins and breaks off; how many whole GPUs stand before the break.
    CutShort {
        /// GPUs that end before the break.
        whole_gpus: usize,
    },
    /// It is not well-formed, with the parser's words.
    Malformed(String),
    /// It is deeper or larger than any real one.
    TooLarge,
}

/// Reads the XML form. What stands before `<?xml` or `<nvidia_smi_log` is left out; prolog and DOCTYPE may be missing.
///
/// # Errors
/// A document that breaks off is refused: what is missing at its end cannot be told from what the driver left out.
pub fn from_xml(text: &str) -> Result<Document<'_>, Refused> {
    let start = text.find("<nvidia_smi_log").ok_or(Refused::NotThere)?;
    let banner_end = text.get(..start).and_then(|head| head.find("<?xml")).unwrap_or(start);
    let mut reader = Reader::from_str(text.get(start..).unwrap_or_default());
    let mut open: Vec<Node> = Vec::new();
    let mut n_nodes = 0_usize;
    let whole_gpus = |open: &[Node]| open.first().map_or(0, |root| root.all("gpu").count());
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                n_nodes += 1;
                if open.len() >= MAX_DEPTH || n_nodes > MAX_NODES {
                    return Err(Refused::TooLarge);
                }
                open.push(element(&tag));
            }
            Ok(Event::Empty(tag)) => {
                n_nodes += 1;
                match open.last_mut() {
                    Some(parent) => parent.children.push(element(&tag)),
                    None => return Err(Refused::CutShort { whole_gpus: 0 }),
                }
            }
            Ok(Event::End(_)) => {
                let Some(mut done) = open.pop() else { return Err(Refused::NotThere) };
                done.text = done.text.trim().to_owned();
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => {
                        let end = start.saturating_add(usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX));
                        let around = [text.get(..banner_end).unwrap_or_default(), text.get(end..).unwrap_or_default()];
                        return Ok(Document { root: done, around });
                    }
                }
            }
            Ok(Event::Text(text)) => add_text(&mut open, &text.decode().unwrap_or_default()),
            Ok(Event::CData(text)) => add_text(&mut open, &text.decode().unwrap_or_default()),
            Ok(Event::GeneralRef(entity)) => {
                let name = entity.decode().unwrap_or_default();
                match (entity.resolve_char_ref(), quick_xml::escape::resolve_predefined_entity(&name)) {
                    (Ok(Some(c)), _) => add_text(&mut open, c.encode_utf8(&mut [0; 4])),
                    (_, Some(text)) => add_text(&mut open, text),
                    _ => add_text(&mut open, "\u{fffd}"),
                }
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Ok(Event::Eof) => return Err(Refused::CutShort { whole_gpus: whole_gpus(&open) }),
            Err(quick_xml::Error::Syntax(_)) => return Err(Refused::CutShort { whole_gpus: whole_gpus(&open) }),
            Err(error) => return Err(Refused::Malformed(error.to_string())),
        }
    }
}

fn element(tag: &BytesStart<'_>) -> Node {
    let mut node = Node::named(String::from_utf8_lossy(tag.name().as_ref()));
    node.id = tag
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.as_ref() == b"id")
        .map(|attribute| String::from_utf8_lossy(&attribute.value).into_owned());
    node
}

/// Text of an element is a number, a word or a sentence; what is longer is cut.
fn add_text(open: &mut [Node], text: &str) {
    if let Some(node) = open.last_mut()
        && node.text.len() < 4_000
    {
        node.text.push_str(text.get(..text.len().min(4_000)).unwrap_or_default());
    }
}

/// Reads the text form. The root's children are the header lines and one `GPU` a card, named by its bus id.
///
/// # Errors
/// `NotThere` when no line begins a log or a GPU.
pub fn from_text(text: &str) -> Result<Node, Refused> {
    let mut root = Node::named("log");
    // The open groups with their indentation; each new line closes those that are not further left than itself.
    let mut open: Vec<(usize, Node)> = Vec::new();
    let mut n_nodes = 0_usize;
    for line in text.lines() {
        let line = line.trim_end();
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with("====") {
            continue;
        }
        let indent = line.len() - bare.len();
        n_nodes += 1;
        if n_nodes > MAX_NODES || open.len() >= MAX_DEPTH {
            return Err(Refused::TooLarge);
        }
        while open.last().is_some_and(|(left, _)| *left >= indent) {
            close(&mut open, &mut root);
        }
        open.push((indent, labelled(bare, indent)));
    }
    while !open.is_empty() {
        close(&mut open, &mut root);
    }
    if root.child("GPU").is_none() && root.child("Attached GPUs").is_none() {
        return Err(Refused::NotThere);
    }
    Ok(root)
}

fn close(open: &mut Vec<(usize, Node)>, root: &mut Node) {
    if let Some((_, done)) = open.pop() {
        match open.last_mut() {
            Some((_, parent)) => parent.children.push(done),
            None => root.children.push(done),
        }
    }
}

/// `Label      : value`, a group's heading, or `GPU 00000000:04:00.0` at the left margin.
fn labelled(line: &str, indent: usize) -> Node {
    if indent == 0
        && let Some(bus) = line.strip_prefix("GPU ").filter(|rest| !rest.contains(" :") && !rest.contains(' '))
    {
        return Node { id: Some(bus.to_owned()), ..Node::named("GPU") };
    }
    match line.split_once(" :").or_else(|| line.split_once(": ")) {
        Some((label, value)) => Node { text: value.trim().to_owned(), ..Node::named(label.trim()) },
        None => Node::named(line.trim_end_matches(':').trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_is_read_whole_or_refused() {
        let banner = "Welcome\n<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"v12.dtd\">\n";
        let body = "<nvidia_smi_log><gpu id=\"1\"><a>x &amp; y</a><b/></gpu><gpu id=\"2\"></gpu></nvidia_smi_log>";
        let tail = "\nWARNING: infoROM";
        for text in [body.to_owned(), format!("{banner}{body}{tail}")] {
            let document = from_xml(&text).unwrap();
            assert_eq!(document.root.all("gpu").filter_map(|gpu| gpu.id.as_deref()).collect::<Vec<_>>(), ["1", "2"]);
            assert_eq!(document.root.at("gpu/a").unwrap().text, "x & y");
            assert_eq!(document.root.at("**/a").unwrap().text, "x & y");
        }
        assert_eq!(from_xml(&format!("{banner}{body}{tail}")).unwrap().around, ["Welcome\n", tail]);
        for (cut, want) in [
            ("<nvidia_smi_log><gpu id=\"1\"></gpu><gpu id=\"2\"><a>", Refused::CutShort { whole_gpus: 1 }),
            ("<nvidia_smi_log><gpu id=\"1\"></gpu></nvidia_smi_l", Refused::CutShort { whole_gpus: 1 }),
            ("<nvidia_smi_log><gpu", Refused::CutShort { whole_gpus: 0 }),
            ("no document", Refused::NotThere),
        ] {
            assert_eq!(from_xml(cut), Err(want), "{cut}");
        }
        assert!(matches!(from_xml("<nvidia_smi_log><a></b></nvidia_smi_log>"), Err(Refused::Malformed(_))));
        let deep = format!("<nvidia_smi_log>{}", "<a>".repeat(100));
        assert_eq!(from_xml(&deep), Err(Refused::TooLarge));
    }

    #[test]
    fn text_is_nested_by_its_indentation() {
        let root = from_text(
            "\n==== NVSMI LOG ====\n\nDriver Version   : 1.2\nGPU 0000:01:00.0\n    MIG Mode\n        Current  : Enabled\n\
             \x20   Slow  : Active\n        Deep  : Yes\n    Processes  : None\nGPU 0000:02:00.0\n",
        )
        .unwrap();
        assert_eq!(
            root.all("GPU").filter_map(|gpu| gpu.id.as_deref()).collect::<Vec<_>>(),
            ["0000:01:00.0", "0000:02:00.0"]
        );
        assert_eq!(root.at("GPU/MIG Mode/Current").unwrap().text, "Enabled");
        assert_eq!(root.at("GPU/Slow/Deep").unwrap().text, "Yes");
        assert_eq!(root.at("Driver Version").unwrap().text, "1.2");
        assert_eq!(from_text("hello\n"), Err(Refused::NotThere));
    }
}

//! What to ask the provider: one question for each thing an offer does not state, ready to send.

use super::billing::{Category, Status};
use super::candidate::Candidate;
use super::text::{Text, fill};

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The field it is about, for `Text::name` ("gpu_memory").
    pub field: &'static str,
    /// The provider's own words for a billing component, or empty.
    pub about: String,
    /// Name of the sentence ("ask_gpu_memory").
    pub sentence: &'static str,
}

impl Question {
    /// The question in a language.
    #[must_use]
    pub fn words(&self, text: &Text) -> String {
        fill(text.name(self.sentence), &[("about", text.name(&self.about).to_owned())])
    }
}

/// Every question that an offer leaves open, in the order of its fields.
#[must_use]
pub fn questions(candidate: &Candidate) -> Vec<Question> {
    let promised = &candidate.promised;
    let fields = [
        ("boundary", promised.boundary.is_some(), "ask_boundary"),
        ("gpu_model", promised.gpu_model.is_some(), "ask_gpu_model"),
        ("gpu_count", promised.gpu_count.is_some(), "ask_gpu_count"),
        ("gpu_memory", promised.gpu_memory.is_some(), "ask_gpu_memory"),
        ("driver", promised.driver.is_some(), "ask_driver"),
        ("cuda", promised.cuda.is_some(), "ask_cuda"),
        ("vcpu", promised.vcpu.is_some(), "ask_vcpu"),
        ("ram", promised.ram.is_some(), "ask_ram"),
        ("disk", promised.disk.is_some(), "ask_disk"),
        ("disk_kind", promised.disk_kind.is_some(), "ask_disk_kind"),
        ("network", promised.network_gbit.is_some(), "ask_network"),
        ("os_image", promised.os_image.is_some(), "ask_os_image"),
        ("ipv4", promised.ipv4.is_some(), "ask_ipv4"),
        ("ipv6", promised.ipv6.is_some(), "ask_ipv6"),
        ("region", promised.region.is_some(), "ask_region"),
        ("term_months", candidate.term.months.is_some(), "ask_term"),
        ("reclaimable", candidate.term.reclaimable.is_some(), "ask_reclaimable"),
    ];
    let mut questions: Vec<Question> = fields
        .into_iter()
        .filter(|(_, is_stated, _)| !is_stated)
        .map(|(field, _, sentence)| Question { field, about: String::new(), sentence })
        .collect();
    for category in Category::ALL.into_iter().filter(|category| is_expected(*category)) {
        if !candidate.billing.iter().any(|component| component.category == category) {
            let name = category.key();
            questions.push(Question { field: name, about: name.to_owned(), sentence: "ask_component" });
        }
    }
    for component in &candidate.billing {
        let name = component.category.key();
        let about = if component.label.trim().is_empty() { name.to_owned() } else { component.label.clone() };
        let goes_on_is_open = component.when_stopped.is_none()
            && component.category != Category::OneOff
            && matches!(component.status, Status::Priced(_) | Status::Unknown);
        if component.status == Status::Unknown {
            questions.push(Question { field: name, about: about.clone(), sentence: "ask_price" });
        }
        if goes_on_is_open {
            questions.push(Question { field: "when_stopped", about, sentence: "ask_when_stopped" });
        }
    }
    questions
}

/// Parts that every rental has, so that silence about them is a question.
const fn is_expected(category: Category) -> bool {
    matches!(category, Category::Accelerator | Category::Storage | Category::Network)
}

/// All questions as a text to send, numbered.
#[must_use]
pub fn letter(candidate: &Candidate, text: &Text) -> String {
    questions(candidate)
        .iter()
        .enumerate()
        .map(|(idx, question)| format!("{}. {}\n", idx + 1, question.words(text)))
        .collect()
}

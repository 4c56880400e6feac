//! One billing component in a dialog. It is put into the candidate when it is kept, not before: a price is half-typed
//! for a while, and a half-typed price is no price.

use egui::Ui;
use iso_currency::Currency;
use rust_decimal::Decimal;

use crate::app::command::{Command, Layer};
use crate::app::state::State;
use crate::domain::billing::{Category, Component, Per, Rate, Status};
use crate::domain::candidate::Candidate;
use crate::domain::ids::{CandidateId, ComponentId};
use crate::domain::money::Money;
use crate::domain::terms::Terms;
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::project::plan::Plan;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Field, columns, dialog, dialog_buttons};

/// Which status, without its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Priced,
    Included,
    Unknown,
    NotApplicable,
}

/// A component while it is edited.
#[derive(Debug, Clone)]
struct Draft {
    candidate: CandidateId,
    id: ComponentId,
    is_new: bool,
    category: Category,
    label: String,
    kind: Kind,
    price: Option<Money>,
    per: Per,
    quantity: Option<Decimal>,
    when_stopped: Option<bool>,
    terms: Terms,
    /// The currency of a bare amount.
    currency: Currency,
}

impl Draft {
    fn of(candidate: &Candidate, component: &Component) -> Self {
        let (kind, rate) = match &component.status {
            Status::Priced(rate) => (Kind::Priced, Some(rate)),
            Status::Included => (Kind::Included, None),
            Status::Unknown => (Kind::Unknown, None),
            Status::NotApplicable => (Kind::NotApplicable, None),
        };
        Self {
            candidate: candidate.id.clone(),
            id: component.id.clone(),
            is_new: false,
            category: component.category,
            label: component.label.clone(),
            kind,
            price: rate.map(|rate| rate.price),
            per: rate.map_or(Per::Month, |rate| rate.per),
            quantity: Some(rate.map_or(Decimal::ONE, |rate| rate.quantity)),
            when_stopped: component.when_stopped,
            terms: component.terms.clone(),
            currency: rate.map_or(Currency::USD, |rate| rate.price.currency),
        }
    }

    /// The component, when everything it needs is there.
    fn component(&self) -> Option<Component> {
        let status = match self.kind {
            Kind::Priced => Status::Priced(Rate { price: self.price?, per: self.per, quantity: self.quantity? }),
            Kind::Included => Status::Included,
            Kind::Unknown => Status::Unknown,
            Kind::NotApplicable => Status::NotApplicable,
        };
        let asks_when_stopped = matches!(self.kind, Kind::Priced | Kind::Unknown);
        Some(Component {
            id: self.id.clone(),
            category: self.category,
            label: self.label.trim().to_owned(),
            status,
            when_stopped: self.when_stopped.filter(|_| asks_when_stopped),
            terms: self.terms.clone(),
        })
    }

    fn key() -> egui::Id {
        egui::Id::unique("billing component draft")
    }

    fn salt(&self, field: &str) -> String {
        format!("component.{}.{}.{field}", self.candidate, self.id)
    }
}

/// Opens a new component of a candidate.
pub(super) fn open_new(ui: &Ui, plan: &Plan, candidate: &Candidate, out: &mut Vec<Command>) {
    let id = ComponentId::next(candidate.billing.iter().map(|component| &component.id));
    let is_taken = |category: &Category| candidate.billing.iter().any(|component| component.category == *category);
    let category = Category::ALL.into_iter().find(|category| !is_taken(category)).unwrap_or(Category::Accelerator);
    let component = Component {
        id,
        category,
        label: String::new(),
        status: Status::Unknown,
        when_stopped: None,
        terms: Terms::default(),
    };
    let currency = super::billing::currency_of_all(plan).unwrap_or(Currency::USD);
    let draft = Draft {
        is_new: true,
        kind: Kind::Priced,
        per: usual_unit(category),
        currency,
        ..Draft::of(candidate, &component)
    };
    show(ui, draft, out);
}

/// Opens a component that is there.
pub(super) fn open(ui: &Ui, candidate: &Candidate, component: &Component, out: &mut Vec<Command>) {
    show(ui, Draft::of(candidate, component), out);
}

fn show(ui: &Ui, draft: Draft, out: &mut Vec<Command>) {
    for field in ["price", "quantity"] {
        Field::forget(ui, &draft.salt(field));
    }
    out.push(Command::SelectCandidate(Some(draft.candidate.clone())));
    ui.data_mut(|data| data.insert_temp(Draft::key(), draft));
    out.push(Command::Show(Layer::Component));
}

/// The unit that such a part is usually priced in.
const fn usual_unit(category: Category) -> Per {
    match category {
        Category::Accelerator | Category::Host => Per::Hour,
        Category::Storage | Category::Snapshot => Per::GbMonth,
        Category::Network => Per::Gb,
        Category::Support => Per::Month,
        Category::OneOff => Per::Once,
    }
}

/// The dialog.
pub fn component_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let Some(mut draft) = ui.data(|data| data.get_temp::<Draft>(Draft::key())) else {
        out.push(Command::CloseTop);
        return;
    };
    let Some(candidate) = project.plan.candidate(&draft.candidate) else {
        out.push(Command::CloseTop);
        return;
    };
    let words = &text.candidates;
    let name = || ("name", candidate.name.clone());
    let title = if draft.is_new { words.component_new.clone() } else { fill(&words.component_edit, &[name()]) };
    dialog(ui, "component", &title, out, |ui, out| {
        let t = tokens(ui);
        ui.spacing_mut().item_spacing.y = t.space.s;
        fields(ui, text, &mut draft);
        let is_wrong = draft.kind == Kind::Priced
            && ["price", "quantity"].iter().any(|field| Field::is_wrong(ui, &draft.salt(field)));
        let component = draft.component().filter(|_| !is_wrong);
        dialog_buttons(ui, "", |ui| {
            let keep = Button::primary(&words.keep).enabled(component.is_some(), &words.price_missing).show(ui);
            if keep.clicked()
                && let Some(component) = component
            {
                out.push(Command::CloseTop);
                out.push(put(candidate, component));
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
            if !draft.is_new && Button::destructive(&words.remove_component).show(ui).clicked() {
                out.push(Command::CloseTop);
                out.push(remove(candidate, &draft.id));
            }
        });
    });
    ui.data_mut(|data| data.insert_temp(Draft::key(), draft));
}

fn fields(ui: &mut Ui, text: &Text, draft: &mut Draft) {
    let (words, gap) = (&text.candidates, tokens(ui).space.m);
    let categories = Category::ALL.map(|category| (category, text.category(category)));
    columns(ui, gap, [1.0, 1.4], |[category, label]| {
        if Field::new("component.category", &words.category).choice(category, &categories, &mut draft.category)
            && draft.is_new
        {
            draft.per = usual_unit(draft.category);
        }
        Field::new("component.label", &words.label).text(label, &mut draft.label);
    });
    let kinds = [
        (Kind::Priced, words.status_priced.as_str()),
        (Kind::Included, words.status_included.as_str()),
        (Kind::Unknown, words.status_unknown.as_str()),
        (Kind::NotApplicable, words.status_none.as_str()),
    ];
    columns(ui, gap, [1.0, 1.4], |[status, stopped]| {
        Field::new("component.status", &words.status).choice(status, &kinds, &mut draft.kind);
        if matches!(draft.kind, Kind::Priced | Kind::Unknown) {
            let field = Field::new("component.when_stopped", &words.when_stopped);
            field.yes_no(stopped, text, &mut draft.when_stopped);
        }
    });
    if draft.kind != Kind::Priced {
        return;
    }
    let units = Per::ALL.map(|per| (per, text.per(per)));
    let (price_salt, quantity_salt) = (draft.salt("price"), draft.salt("quantity"));
    columns(ui, gap, [1.0; 3], |[price, per, quantity]| {
        let field = Field::new(&price_salt, &words.price).hint(&words.price_missing);
        field.money(price, text, draft.currency, &mut draft.price);
        Field::new("component.per", &words.per).choice(per, &units, &mut draft.per);
        let missing = draft.quantity.is_none().then(|| words.quantity_missing.clone());
        let most = Decimal::from(1_000_000_000_u64);
        let field = Field::new(&quantity_salt, &words.quantity).error(missing);
        field.decimal_within(quantity, text, Decimal::ZERO..=most, &mut draft.quantity);
    });
}

fn put(candidate: &Candidate, component: Component) -> Command {
    let mut candidate = candidate.clone();
    match candidate.billing.iter_mut().find(|other| other.id == component.id) {
        Some(place) => *place = component,
        None => candidate.billing.push(component),
    }
    Command::Edit(Edit::PutCandidate(Box::new(candidate)))
}

fn remove(candidate: &Candidate, id: &ComponentId) -> Command {
    let mut candidate = candidate.clone();
    candidate.billing.retain(|component| component.id != *id);
    Command::Edit(Edit::PutCandidate(Box::new(candidate)))
}

//! What something cost and what was paid: two types without a common addition, and views that have none at all.

use crate::domain::money::{CurrencyMismatch, Exact};

/// What the work cost, in the time it was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accrual(Exact);

/// What was paid, when it was paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cash(Exact);

/// A view on amounts that are already counted: idle, lost, unused, rejected. It has no addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic(Exact);

macro_rules! amounts {
    ($($name:ident),*) => {$(
        impl $name {
            /// The amount as this.
            #[must_use]
            pub fn new(amount: Exact) -> Self {
                Self(amount)
            }

            /// The amount, for showing.
            #[must_use]
            pub fn shown(&self) -> &Exact {
                &self.0
            }
        }
    )*};
}
amounts!(Accrual, Cash, Diagnostic);

impl Accrual {
    /// The sum.
    ///
    /// # Errors
    /// `CurrencyMismatch` when the currencies differ.
    pub fn plus(&self, other: &Self) -> Result<Self, CurrencyMismatch> {
        self.0.plus(&other.0).map(Self)
    }
}

impl Cash {
    /// The sum.
    ///
    /// # Errors
    /// `CurrencyMismatch` when the currencies differ.
    pub fn plus(&self, other: &Self) -> Result<Self, CurrencyMismatch> {
        self.0.plus(&other.0).map(Self)
    }
}

/// An amount of one of the two books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Booked {
    Accrual(Accrual),
    Cash(Cash),
}

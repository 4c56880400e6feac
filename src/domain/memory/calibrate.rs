//! What one measured run teaches: it moves activations and libraries of the same engine and card, never weights or
//! cache, which stay arithmetic. It is a value beside the setup: shown, and taken away by leaving it out.

use serde::{Deserialize, Serialize};

use super::GIB;
use super::band::Band;
use super::serve::{self, Setup};

/// What is left uncertain after a calibration, bytes: runs of one engine and card differ by the length of captured
/// graphs and the state of the allocator.
const REST: f64 = 0.3 * GIB;

/// The two terms that a measured run moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Measured over predicted activations.
    pub factor: f64,
    /// Measured bytes of libraries inside the budget; `None` when the log does not tell them apart.
    pub non_torch: Option<f64>,
}

/// What a log says, bytes a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredRun {
    /// Weights.
    pub weights: Option<f64>,
    /// Pool.
    pub pool: Option<f64>,
    /// Peak of activations.
    pub activations: Option<f64>,
    /// Libraries.
    pub non_torch: Option<f64>,
}

impl Calibration {
    /// Calibration by a run under `setup` (whose own calibration is not used). `None` when the log tells neither the
    /// activations nor weights and pool of a card and share that are known.
    #[must_use]
    pub fn from_run(setup: &Setup, run: &MeasuredRun) -> Option<Self> {
        let plain = serve::predict(&Setup { calibration: None, ..setup.clone() });
        let predicted = plain.activations?.value;
        if predicted <= 0.0 {
            return None;
        }
        let activations = match run.activations {
            Some(activations) => activations,
            // What the budget does not give to weights and pool went to activations, libraries and charged graphs.
            None => {
                let rest = plain.budget?.value - run.weights.or(plain.weights.map(|band| band.value))? - run.pool?;
                rest - run.non_torch.unwrap_or(plain.non_torch.value) - plain.graphs_charged.value
            }
        };
        let factor = (activations / predicted).clamp(0.02, 20.0);
        factor.is_finite().then_some(Self { factor, non_torch: run.non_torch })
    }

    /// Activations as this run teaches them.
    #[must_use]
    pub fn activations(&self, plain: Band) -> Band {
        let value = plain.value * self.factor;
        Band::within(value, REST.max(0.05 * value).min(value), REST.max(0.05 * value))
    }

    /// Libraries as this run teaches them.
    #[must_use]
    pub fn non_torch(&self, plain: Band) -> Band {
        self.non_torch.map_or(plain, |bytes| Band::within(bytes, 0.1 * GIB, 0.1 * GIB))
    }
}

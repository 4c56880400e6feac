//! What a prediction had to assume, each with its sentence in both languages (`Text::memory_note`); tables of the command
//! line print the English one.

/// An assumption, or something that is not known and lies within the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A stated quantisation that is not known: its words.
    QuantisationUnknown(String),
    /// The list of unquantised layers is not known, for these parts.
    KeptUnknown(Vec<&'static str>),
    /// The tensor table of a GGUF file is not known.
    TensorTableUnknown,
    /// Whether the scales of a 4-bit format are quantised again.
    DoubleQuantisationUnknown,
    /// The group of 4-bit scales.
    GroupAssumed,
    /// Layers of 4 and of 8 bits in one checkpoint.
    FormatsMixed,
    /// The image part is a file of its own.
    ImagePartApart,
    /// The size of the image part.
    ImagePartAssumed,
    /// Adapter slots.
    AdapterSlots,
    /// The draft layer's format.
    DraftUnquantised,
    /// Pipeline stages.
    FullestStage,
    /// Which layers have the sliding window.
    WindowUnknown,
    /// The weights follow from the number of parameters alone.
    FromParameters,
}

impl Note {
    /// Its name for `Text::name`, and the key of its English sentence.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::QuantisationUnknown(_) => "memory_note_quantisation_unknown",
            Self::KeptUnknown(_) => "memory_note_kept_unknown",
            Self::TensorTableUnknown => "memory_note_tensor_table_unknown",
            Self::DoubleQuantisationUnknown => "memory_note_double_quantisation_unknown",
            Self::GroupAssumed => "memory_note_group_assumed",
            Self::FormatsMixed => "memory_note_formats_mixed",
            Self::ImagePartApart => "memory_note_image_part_apart",
            Self::ImagePartAssumed => "memory_note_image_part_assumed",
            Self::AdapterSlots => "memory_note_adapter_slots",
            Self::DraftUnquantised => "memory_note_draft_unquantised",
            Self::FullestStage => "memory_note_fullest_stage",
            Self::WindowUnknown => "memory_note_window_unknown",
            Self::FromParameters => "memory_note_from_parameters",
        }
    }

    /// What fills its sentence's `{what}`; names of parts are joined by `comma`.
    #[must_use]
    pub fn what(&self, comma: &str, name: impl Fn(&'static str) -> String) -> String {
        match self {
            Self::QuantisationUnknown(words) => words.clone(),
            Self::KeptUnknown(parts) => parts.iter().map(|part| name(part)).collect::<Vec<_>>().join(comma),
            _ => String::new(),
        }
    }
}

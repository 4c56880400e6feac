//! The nine steps: `fn x_ui(ui, &State, &Text, &mut Vec<Command>)` each, one file a step.

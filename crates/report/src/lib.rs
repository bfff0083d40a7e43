//! Values in, files and texts out: one self-contained HTML page, CSV and JSON exports, and tables
//! for the terminal.
//!
//! Last in the flow. What is shown is computed in `view` as plain structs; `page`, `terminal` and
//! the exports only lay it out. Nothing here opens a store, a file or a device, reads a clock or an
//! environment, so equal values give equal texts to the byte. Strings that came from devices and
//! files are hostile: they are cleaned of control characters and escaped at the one place where each
//! kind of text is written.

mod chart;
mod csv_export;
mod error;
mod fidelity_export;
mod json_export;
mod page;
mod series_export;
mod stages_export;
mod table;
mod terminal;
mod text;
mod view;

pub use csv_export::results_csv;
pub use error::ReportError;
pub use fidelity_export::fidelity_csv;
pub use json_export::*;
pub use page::html;
pub use series_export::SeriesCsv;
pub use stages_export::stages_csv;
pub use table::{Align, Column, Table};
pub use terminal::{RunRow, runs_table, terminal_table};
pub use text::number;

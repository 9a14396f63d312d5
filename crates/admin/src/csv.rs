//! Tables as CSV.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use vestibule_core::word_field;

/// The format of a table.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TableFormat {
    Json,
    Csv,
}

word_field!(TableFormat { Json = "json", Csv = "csv" });

/// A table as a file. Its fields must not need quotes.
pub(crate) fn csv_file<const N: usize>(
    name: &str,
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Response {
    let lines = std::iter::once(columns.join(",")).chain(rows.into_iter().map(|row| row.join(",")));
    let text: String = lines.map(|line| line + "\r\n").collect();
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    ([(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)], text).into_response()
}

//! Log lines with the ID of their request.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::request_log::RequestId;

/// A format whose lines end with the ID of the current request, if there is one.
pub(crate) struct RequestIdFormat<F> {
    format: F,
    /// Writes the end of a line.
    end: &'static str,
    write: fn(&mut Writer<'_>, &RequestId) -> fmt::Result,
}

impl<F> RequestIdFormat<F> {
    pub(crate) fn text(format: F) -> Self {
        Self { format, end: "\n", write: |writer, id| writeln!(writer, " request_id={id}") }
    }

    /// `format` writes one object per line. Request IDs need no escaping in JSON.
    pub(crate) fn json(format: F) -> Self {
        Self { format, end: "}\n", write: |writer, id| writeln!(writer, ",\"request_id\":\"{id}\"}}") }
    }
}

impl<S, N, F> FormatEvent<S, N> for RequestIdFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(id) = RequestId::current() else { return self.format.format_event(context, writer, event) };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        match line.strip_suffix(self.end) {
            Some(line) => {
                writer.write_str(line)?;
                (self.write)(&mut writer, &id)
            }
            None => writer.write_str(&line),
        }
    }
}

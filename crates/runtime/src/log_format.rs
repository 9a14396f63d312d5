//! Lines of the log that say which request they are about.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::request_log::RequestId;

/// A format whose lines end with the name of the request that they were written in, if there is one.
pub(crate) struct RequestIdFormat<F> {
    format: F,
    /// What a line of this format ends with.
    end: &'static str,
    write: fn(&mut Writer<'_>, &RequestId) -> fmt::Result,
}

impl<F> RequestIdFormat<F> {
    pub(crate) fn text(format: F) -> Self {
        Self { format, end: "\n", write: |writer, id| writeln!(writer, " request_id={id}") }
    }

    /// `format` writes one object a line. Names of requests are ids and numbers, which JSON takes as they are.
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

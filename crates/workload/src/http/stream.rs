//! Server-sent events, as a browser reads them.

use crate::visitor::ReportedStatus;

use super::response::reported_status;

/// What a stream sent.
#[derive(Debug, PartialEq)]
pub(super) enum Block {
    /// A status. Boxed, since thousands of them wait to be handled.
    Status(Box<ReportedStatus>),
    /// The milliseconds until the browser reconnects after the end.
    Retry(u32),
}

/// Splits the bytes of a stream into blocks.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// The bytes of the block that is not complete yet.
    rest: Vec<u8>,
}

impl EventReader {
    /// The blocks that these bytes complete. Comments and other events are skipped.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Block> {
        self.rest.extend_from_slice(bytes);
        let mut blocks = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
            blocks.extend(block(&self.rest[..end]));
            self.rest.drain(..end + 2);
        }
        blocks
    }
}

fn block(text: &[u8]) -> impl Iterator<Item = Block> {
    let is_status = text.split(|byte| *byte == b'\n').any(|line| line == b"event: status");
    text.split(|byte| *byte == b'\n').filter_map(move |line| {
        if let Some(retry) = line.strip_prefix(b"retry: ") {
            return std::str::from_utf8(retry).ok()?.parse().ok().map(Block::Retry);
        }
        let data = line.strip_prefix(b"data: ").filter(|_| is_status)?;
        reported_status(data).map(|status| Block::Status(Box::new(status)))
    })
}

#[cfg(test)]
mod tests {
    use vestibule_core::VisitorState;

    use super::*;

    #[test]
    fn blocks_are_read_from_any_pieces() {
        let status = r#"{"queue":"tour","session":null,"support_code":null,"state":"paused","reason":null,"position":null,
            "waiting":2,"active":0,"wait_seconds":null,"joined_at":null,"expires_in":9,"poll_after":5,"enter_url":null,
            "revision":1,"message":null,"event":null}"#;
        let status = status.replace(['\n', ' '], "");
        let text =
            format!("retry: 830\n\nevent: status\ndata: {status}\n\n:\n\nevent: other\ndata: {status}\n\nretry: x\n\n");
        for size in [1, 7, text.len()] {
            let mut reader = EventReader::default();
            let blocks: Vec<Block> = text.as_bytes().chunks(size).flat_map(|chunk| reader.read(chunk)).collect();
            let [Block::Retry(830), Block::Status(status)] = &blocks[..] else { panic!("{blocks:?}") };
            assert_eq!((status.state, status.expires_in), (VisitorState::Paused, Some(9)));
        }
    }
}

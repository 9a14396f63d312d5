//! Names of lists of networks.

use crate::QueueId;
use crate::fields::FieldErrorCode as Code;

crate::text_kind! {
    /// The name of a list of networks: that of its file.
    pub ListName: Code::Id, { "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", "maxLength": crate::ID_MAX }, parse_list_name;
}

/// The name of a list, if the text is one.
pub(super) fn parse_list_name(text: &str) -> Option<String> {
    text.parse::<QueueId>().ok().map(|_| text.to_owned())
}

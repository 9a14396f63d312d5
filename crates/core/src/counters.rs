//! Structs of counters, which name their fields for stores and metrics.

/// Defines counters, each with its name in stores. The order is that of the definition.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $name {
            /// Number of counters.
            pub const COUNT: usize = [$($text),+].len();

            /// Names and values, in the order used by stores.
            pub const fn named(&self) -> [(&'static str, u64); Self::COUNT] {
                [$(($text, self.$field)),+]
            }

            /// The counters with these values, in the order of [`Self::named`].
            pub const fn from_values(values: [u64; Self::COUNT]) -> Self {
                let [$($field),+] = values;
                Self { $($field),+ }
            }
        }
    };
}

pub(crate) use counters;

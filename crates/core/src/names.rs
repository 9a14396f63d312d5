//! Enums whose values have names.

/// Defines an enum whose values have names: all of them in order, and the function that returns the name.
///
/// ```
/// vestibule_core::names! {
///     /// A traffic light.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
///     pub enum Light {
///         /// Go.
///         Green = "green",
///         /// Stop.
///         Red = "red",
///     }
///     /// The name in JSON.
///     fn as_str
/// }
/// assert_eq!(Light::ALL.map(Light::as_str), ["green", "red"]);
/// ```
#[macro_export]
macro_rules! names {
    (
        $(#[$meta:meta])* $vis:vis enum $enum:ident { $($(#[$value_meta:meta])* $value:ident = $name:literal,)+ }
        $(#[$doc:meta])* fn $function:ident
    ) => {
        $(#[$meta])*
        $vis enum $enum {
            $($(#[$value_meta])* $value,)+
        }

        impl $enum {
            /// All values, in order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            $(#[$doc])*
            $vis const fn $function(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

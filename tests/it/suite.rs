//! Behaviors that are shown on several fixtures. A behavior is a function that takes a fixture.

/// Runs each behavior on each fixture, in a module of tests per fixture.
macro_rules! on_each {
    ({ $($module:ident: $fixture:expr,)+ } $behaviors:tt) => {
        $(mod $module {
            $crate::suite::tests!($fixture; $behaviors);
        })+
    };
}
pub(crate) use on_each;

/// Runs each behavior of the module around, or of modules in it, on this fixture.
macro_rules! tests {
    ($fixture:expr; { $($behavior:ident,)+ }) => {
        $(#[tokio::test]
        async fn $behavior() {
            super::$behavior($fixture).await;
        })+
    };
    ($fixture:expr; { $($module:ident { $($behavior:ident,)+ })+ }) => {
        $($(#[tokio::test]
        async fn $behavior() {
            super::$module::$behavior($fixture).await;
        })+)+
    };
}
pub(crate) use tests;

//! The picture in the documentation shows what the template makes.

use std::collections::BTreeSet;

use super::stack::{Stack, text_of};

#[test]
fn diagram_shows_the_template_functions() {
    let picture = text_of("docs/images/architecture.svg");
    let texts = picture.split("<text class=\"function\"").skip(1);
    let shown: BTreeSet<&str> = texts.map(|text| text.split(['>', '<']).nth(1).unwrap()).collect();
    let functions = Stack::deploy_all(&[]).resources("AWS::Serverless::Function");
    let there: BTreeSet<String> = functions.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(shown.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), there);
}

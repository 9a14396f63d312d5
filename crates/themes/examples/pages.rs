//! Writes every page of the built-in theme in every state and language into a folder, to look at them:
//! `cargo run -p vestibule-themes --example pages -- FOLDER`

use std::error::Error;
use std::fs;
use std::path::Path;

use vestibule_core::{VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::{ErrorPage, Language, PageView, Themes, keepalive_script, queue_script};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("takes the folder to write to")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("queue.js"), &queue_script().bytes)?;
    fs::write(folder.join("keepalive.js"), &keepalive_script().bytes)?;
    for language in Language::ALL {
        write_states(folder, language).await?;
        for page in ErrorPage::ALL {
            let name = format!("plain-{}.{}.html", page.as_str(), language.code());
            fs::write(folder.join(name), Themes::plain_page(page, language, "sample", Some(503)))?;
        }
    }
    Ok(())
}

async fn write_states(folder: &Path, language: Language) -> Result<(), Box<dyn Error>> {
    use VisitorState::{Admitted, Closed, Paused, Unavailable, Waiting};
    for state in [Waiting, Admitted, Paused, Closed, Unavailable] {
        let visitor_status = visitor_status(state)?;
        let page = Themes::built_in().queue_page(None, &view(&visitor_status, language)).await;
        fs::write(folder.join(format!("{}.{}.html", state.as_str(), language.code())), page)?;
    }
    Ok(())
}

fn visitor_status(state: VisitorState) -> Result<VisitorStatus, Box<dyn Error>> {
    Ok(VisitorStatus {
        session: Some("6f1c2a54-9a57-408e-8043-6d7a3f0f9b11".parse()?),
        support_code: Some("7QK2-M0XV".to_owned()),
        position: Some(1284),
        waiting: Some(5678),
        active: Some(100),
        wait_seconds: (state == VisitorState::Waiting).then_some(WaitSeconds { p50: 240, p90: 360 }),
        enter_url: Some("/tickets".to_owned()),
        ..VisitorStatus::new("acme-tour".parse()?, state, 2)
    })
}

fn view(visitor_status: &VisitorStatus, language: Language) -> PageView<'_> {
    PageView {
        queue_name: "Northern Lights – World Tour 2027",
        brand_name: "Acme Live",
        color: std::env::var("COLOR").ok().and_then(|color| color.parse().ok()),
        language,
        ..PageView::new(visitor_status, "sample", "/_vestibule/theme/acme-tour/")
    }
}

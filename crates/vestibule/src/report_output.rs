//! The report of `vestibule rehearse` and `vestibule plan`: where it is written, and the exit status.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use vestibule_workload::checks::FailCondition;
use vestibule_workload::report::Report;

/// Exit status if nothing was measured: invalid input, or a target that does not respond.
const EXIT_NOT_MEASURED: u8 = 2;

/// Reports and failure conditions.
#[derive(Args)]
pub(crate) struct OutputOptions {
    /// Write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Exit with status 1 under this condition, such as `over_admission>0` or `utilization<0.9`; a comma-separated list. Replaces
    /// the default condition of a figure
    #[arg(long, value_delimiter = ',', value_name = "LIMIT")]
    pub(crate) fail_if: Vec<FailCondition>,
}

/// The exit status of a run.
pub(crate) fn exit_code(passed: anyhow::Result<bool>) -> ExitCode {
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("vestibule: {error:#}");
            ExitCode::from(EXIT_NOT_MEASURED)
        }
    }
}

/// Prints and writes the report. Returns whether all checks passed.
pub(crate) fn finish(report: &Report, files: &ReportFiles) -> anyhow::Result<bool> {
    print!("{}", report.to_text());
    for note in &report.notes {
        println!("note: {note}");
    }
    files.write(|| report.to_json(), || report.to_html())?;
    Ok(report.passed())
}

/// The files of a report, which are opened before the run: a path that cannot be written must not cost a run.
pub(crate) struct ReportFiles {
    json: Option<(PathBuf, File)>,
    html: Option<(PathBuf, File)>,
}

impl ReportFiles {
    /// Opens the files. An earlier report stays until the new one is written.
    pub(crate) fn open(output: &OutputOptions) -> anyhow::Result<Self> {
        let open = |flag: &str, path: Option<&PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let file = File::options().write(true).create(true).truncate(false).open(path);
            let file = file.with_context(|| format!("{flag}: cannot write to {}", path.display()))?;
            anyhow::Ok(Some((path.clone(), file)))
        };
        Ok(Self { json: open("--json", output.json.as_ref())?, html: open("--html", output.html.as_ref())? })
    }

    /// Writes both files, also if one of them fails.
    pub(crate) fn write(&self, json: impl Fn() -> String, html: impl Fn() -> String) -> anyhow::Result<()> {
        let json = self.json.as_ref().map_or(Ok(()), |(path, file)| write(path, file, &json()));
        let html = self.html.as_ref().map_or(Ok(()), |(path, file)| write(path, file, &html()));
        json.and(html)
    }
}

fn write(path: &Path, mut file: &File, text: &str) -> anyhow::Result<()> {
    let mut replace = || {
        // A pipe such as /dev/stdout has no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(text.as_bytes())
    };
    replace().with_context(|| format!("cannot write the report to {}", path.display()))?;
    println!("Report written to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_cannot_be_written_are_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let (json, html) = (folder.path().join("nowhere/r.json"), folder.path().join("r.html"));
        let output =
            |json: &Path| OutputOptions { json: Some(json.to_owned()), html: Some(html.clone()), fail_if: Vec::new() };
        let refused = ReportFiles::open(&output(&json)).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|reason| reason.starts_with("--json: cannot write to")));
        let json = folder.path().join("r.json");
        std::fs::write(&json, "an earlier report").unwrap();
        let files = ReportFiles::open(&output(&json)).unwrap();
        assert_eq!(std::fs::read_to_string(&json).unwrap(), "an earlier report");
        files.write(|| "{}".to_owned(), || "<p>".to_owned()).unwrap();
        assert_eq!(
            (std::fs::read_to_string(&json).unwrap(), std::fs::read_to_string(&html).unwrap()),
            ("{}".into(), "<p>".into())
        );
    }
}

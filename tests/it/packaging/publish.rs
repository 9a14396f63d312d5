//! scripts/publish, with programs in front of the real ones that write down what they were asked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::workspace;

const VARIABLES: [(&str, &str); 6] = [
    ("BITBUCKET_TAG", "v1.2.3"),
    ("BITBUCKET_REPO_FULL_NAME", "acme/vestibule"),
    ("IMAGE_REPOSITORY", "images.example.com/acme/vestibule"),
    ("IMAGE_USER", "publisher"),
    ("IMAGE_PASSWORD", "of-the-registry"),
    ("RELEASE_TOKEN", "of-the-repository"),
];

/// A copy of what the script reads, and programs that say how they were called.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for made in ["scripts", "programs", "target/release-files"] {
        std::fs::create_dir_all(folder.path().join(made)).unwrap();
    }
    std::fs::copy(workspace().join("scripts/publish"), folder.path().join("scripts/publish")).unwrap();
    std::fs::write(folder.path().join("CHANGELOG.md"), "## [Unreleased]\n\n## [1.2.3] - 2027-01-01\n").unwrap();
    for file in ["SHA256SUMS", "vestibule-1.2.3-x86_64-linux.tar.gz"] {
        std::fs::write(folder.path().join("target/release-files").join(file), "").unwrap();
    }
    let says = |name: &str| format!("#!/bin/sh\necho \"{name} $*\"\n[ -t 0 ] || sed 's/^/{name} reads /'\n");
    let programs = [
        ("cargo", "#!/bin/sh\necho 'path+file:///vestibule#1.2.3'\n".to_owned()),
        ("docker", says("docker")),
        ("curl", says("curl")),
    ];
    for (name, text) in programs {
        let program = folder.path().join("programs").join(name);
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn publish(folder: &Path, variables: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", folder.join("programs").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(folder.join("scripts/publish"));
    for (name, _) in VARIABLES {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).env("PATH", path).stdin(std::process::Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn image_and_archives_are_published_without_secret_arguments() {
    let output = publish(folder().path(), &VARIABLES);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    for line in [
        "docker login --username publisher --password-stdin images.example.com",
        "docker push images.example.com/acme/vestibule:1.2.3",
        "docker push images.example.com/acme/vestibule:latest",
        "curl reads header = \"Authorization: Bearer of-the-repository\"",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    for file in ["SHA256SUMS", "vestibule-1.2.3-x86_64-linux.tar.gz"] {
        assert!(said.contains(&format!("files=@target/release-files/{file} ")), "{file}: {said}");
    }
    let secrets = ["of-the-registry", "of-the-repository"];
    assert!(
        said.lines().filter(|line| !line.contains(" reads ")).all(|line| !secrets.iter().any(|it| line.contains(it)))
    );
}

#[test]
fn nothing_is_published_unless_everything_is_there() {
    let refused = |folder: &Path, variables: &[(&str, &str)], names: &str| {
        let output = publish(folder, variables);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(names), "{names}: {said}");
        assert!(!text(&output.stdout).contains("push"), "{names}");
    };
    for (name, _) in VARIABLES.iter().filter(|(name, _)| *name != "BITBUCKET_REPO_FULL_NAME") {
        let others: Vec<_> = VARIABLES.iter().filter(|(other, _)| other != name).copied().collect();
        refused(folder().path(), &others, if *name == "BITBUCKET_TAG" { "tag the commit v1.2.3" } else { name });
    }
    let with = |name: &str, value: &'static str| {
        VARIABLES.map(|(other, kept)| (other, if other == name { value } else { kept }))
    };
    refused(folder().path(), &with("BITBUCKET_TAG", "v1.2.4"), "tag the commit v1.2.3");
    refused(folder().path(), &with("IMAGE_REPOSITORY", "acme/vestibule"), "host of the registry");
    let unlisted = folder();
    std::fs::write(unlisted.path().join("CHANGELOG.md"), "## [Unreleased]\n").unwrap();
    refused(unlisted.path(), &VARIABLES, "CHANGELOG.md");
    let unbuilt = folder();
    std::fs::remove_file(unbuilt.path().join("target/release-files/SHA256SUMS")).unwrap();
    refused(unbuilt.path(), &VARIABLES, "make release");
}

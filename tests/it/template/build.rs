//! What `sam build` builds: each function from its own folder, and the backoffice with its dashboard.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::environment::FUNCTIONS;
use super::stack::{Stack, file, template, text_of};

#[test]
fn a_function_is_built_from_its_own_folder() {
    let (template, stack) = (template(), Stack::deploy_all(&[]));
    for function in FUNCTIONS {
        let name = function.to_lowercase();
        assert_eq!(stack.properties(function)["CodeUri"], format!("crates/{name}").as_str());
        let manifest = text_of(&format!("crates/{name}/Cargo.toml"));
        assert!(manifest.contains(&format!("[[bin]]\nname = \"{name}\"\n")), "{name}");
        let metadata = &template["Resources"][function]["Metadata"];
        if function == "Admin" {
            let properties =
                ["BuildMethod", "ContextPath", "WorkingDirectory"].map(|key| metadata[key].as_str().unwrap());
            assert_eq!(properties, ["makefile", ".", "."], "by the Makefile at the top, where it lies");
            assert!(text_of("Makefile").contains("\nbuild-Admin:\n\tscripts/build-admin \"$(ARTIFACTS_DIR)\"\n"));
        } else {
            assert_eq!(metadata["BuildMethod"], "rust-cargolambda");
            assert_eq!(metadata["BuildProperties"]["Binary"], name.as_str());
        }
    }
}

/// A copy of what the script needs, with an `npm` and a `cargo` that write down what they were asked.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in ["scripts", "dashboard", "bin", "elsewhere/lambda/admin"] {
        std::fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    std::fs::copy(file("scripts/build-admin"), folder.path().join("scripts/build-admin")).unwrap();
    std::fs::write(folder.path().join("dashboard/package-lock.json"), "{}").unwrap();
    std::fs::write(folder.path().join("elsewhere/lambda/admin/bootstrap"), "the program").unwrap();
    let installs = "if [ \"$1\" = ci ]; then mkdir -p node_modules; fi\n";
    let npm = format!(
        "#!/bin/sh\necho \"npm $* in ${{PWD##*/}}\"\n{installs}if [ \"$*\" = \"${{FAILS-}}\" ]; then exit 3; fi\n"
    );
    for (name, text) in [("npm", npm.as_str()), ("node", "#!/bin/sh\n"), ("cargo-lambda", "#!/bin/sh\n")] {
        write_program(&folder.path().join("bin").join(name), text);
    }
    let target = folder.path().join("elsewhere");
    let metadata = format!("{{\"packages\":[],\"target_directory\":\"{}\",\"version\":1}}", target.display());
    let cargo = format!("#!/bin/sh\nif [ \"$1\" = metadata ]; then echo '{metadata}'; else echo \"cargo $*\"; fi\n");
    write_program(&folder.path().join("bin/cargo"), &cargo);
    folder
}

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn build(folder: &Path, environment: &[(&str, &str)]) -> Output {
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    let mut command = Command::new(folder.join("scripts/build-admin"));
    command.arg(folder.join("out/Admin")).env("PATH", path).env_remove("ARCHITECTURE").env_remove("ADMIN_HOST");
    command.envs(environment.iter().copied()).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn sam_build_includes_the_dashboard() {
    let folder = folder();
    let cargo = "cargo lambda build --release --package vestibule-admin --bin admin --arm64";
    let first = said(&build(folder.path(), &[]));
    assert_eq!(first, format!("npm ci in dashboard\nnpm run build in dashboard\n{cargo}\n"));
    assert_eq!(std::fs::read_to_string(folder.path().join("out/Admin/bootstrap")).unwrap(), "the program");
    let second = said(&build(folder.path(), &[]));
    assert_eq!(second, format!("npm run build in dashboard\n{cargo}\n"), "nothing is installed twice");
    let failed = build(folder.path(), &[("FAILS", "run build")]);
    assert!(!failed.status.success() && !String::from_utf8_lossy(&failed.stdout).contains("cargo"));
}

#[test]
fn backoffice_is_built_for_the_given_architecture() {
    let folder = folder();
    for (architecture, flag) in [("arm64", "--arm64"), ("x86_64", "--x86-64")] {
        let built = said(&build(folder.path(), &[("ARCHITECTURE", architecture)]));
        assert!(built.trim_end().ends_with(flag), "{built}");
    }
    let unknown = build(folder.path(), &[("ARCHITECTURE", "riscv")]);
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("riscv"));
}

#[test]
fn stage_without_admin_host_builds_no_backoffice() {
    let folder = folder();
    assert_eq!(said(&build(folder.path(), &[("ADMIN_HOST", "")])), "");
    assert!(folder.path().join("out/Admin/bootstrap").is_file(), "SAM packs what it finds");
}

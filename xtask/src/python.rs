//! `cargo xtask python`: builds the Python packages with the profile of the Rust tests, and runs
//! all their checks.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::Tree;
use crate::{cargo, features, step};

/// Features, packages and tests are those of the other steps. Without the tests, dependencies would
/// lack features, and half of the workspace would be compiled again.
const BUILD: &str = "build --workspace --exclude benches --lib --bins --tests";
const REQUIREMENTS: &str = include_str!("../python-requirements.txt");
const NOTEBOOKS: &str = "docs/notebooks";
const REPEAT: &str = "cargo xtask python";

/// A Python package: the directory of its crate, and the name under which it is imported.
struct Package {
    directory: &'static str,
    name: &'static str,
}

const PACKAGES: [Package; 2] = [
    Package {
        directory: "crates/dfo-ls-python",
        name: "dfo_ls",
    },
    Package {
        directory: "crates/bilevel-python",
        name: "bilevel",
    },
];

/// Makes the environment, builds the packages and runs all checks.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    step::run("environment", REPEAT, || environment(root))?;
    build(root)?;
    check(root)
}

/// Makes an environment under `target/`, unless one with the same requirements exists. This
/// downloads packages and does not use cargo.
pub(crate) fn environment(root: &Path) -> Result<(), String> {
    Site::find(root)?.make()
}

/// Builds the packages.
pub(crate) fn build(root: &Path) -> Result<(), String> {
    let build = format!("{BUILD} {}", features::all(&Tree::load(root)?.packages()));
    step::run("build", &format!("cargo {build}"), || {
        cargo::wait(cargo::lint(&mut cargo::command(
            root,
            &cargo::words(&build),
        ))?)
    })
}

/// Checks packages that are built in the environment, stopping at the first failure. This does not
/// use cargo.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let site = Site::find(root)?;
    step::run("packages", REPEAT, || site.assemble())?;
    step::run("style", REPEAT, || {
        for check in [&["format", "--check"][..], &["check"]] {
            let mut ruff = site.python(&["-m", "ruff"]);
            cargo::wait(ruff.args(check).args(["--quiet", "crates", "docs"]))?;
        }
        Ok(())
    })?;
    step::run("types", REPEAT, || {
        let strict = ["-m", "mypy", "--strict", "--no-error-summary"];
        let packages = PACKAGES.iter().flat_map(|package| ["-p", package.name]);
        cargo::wait(site.python(&strict).args(packages))?;
        let modules = PACKAGES.map(|package| format!("{0}._{0}", package.name));
        cargo::wait(site.python(&["-m", "mypy.stubtest"]).args(modules))
    })?;
    step::run("pytest", REPEAT, || {
        let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
        let tests = PACKAGES.map(|package| format!("{}/tests", package.directory));
        cargo::wait(
            site.python(&pytest)
                .arg("--import-mode=importlib")
                .arg("--durations=8")
                .args(tests)
                .arg(NOTEBOOKS),
        )
    })
}

/// The directories in which the packages are assembled and checked.
struct Site {
    root: PathBuf,
    /// The directory of cargo's build products.
    built: PathBuf,
    venv: PathBuf,
    packages: PathBuf,
    /// The directory for caches of the tools.
    cache: PathBuf,
}

impl Site {
    /// Finds the directories next to this program, which cargo built wherever the user lets it.
    fn find(root: &Path) -> Result<Self, String> {
        let program = env::current_exe()
            .map_err(|error| format!("cannot find the path of this program: {error}"))?;
        let built = program.parent().unwrap_or(root).to_path_buf();
        let home = built.parent().unwrap_or(root).join("python");
        Ok(Self {
            root: root.to_path_buf(),
            built,
            venv: home.join("venv"),
            packages: home.join("packages"),
            cache: home.join("cache"),
        })
    }

    /// A call of the environment's interpreter with `args`. It sees our packages, and writes
    /// nothing into the sources.
    fn python(&self, args: &[&str]) -> Command {
        let program = format!("bilevel{}", env::consts::EXE_SUFFIX);
        let mut command = Command::new(interpreter(&self.venv));
        command
            .args(args)
            .current_dir(&self.root)
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MPLBACKEND", "Agg")
            .env("MPLCONFIGDIR", self.cache.join("matplotlib"))
            .env("MYPY_CACHE_DIR", self.cache.join("mypy"))
            .env("RUFF_CACHE_DIR", self.cache.join("ruff"))
            .env(
                "HYPOTHESIS_STORAGE_DIRECTORY",
                self.cache.join("hypothesis"),
            )
            .env("BILEVEL_PROGRAM", self.built.join(program));
        command
    }

    /// Makes the environment, unless one with the same requirements exists.
    fn make(&self) -> Result<(), String> {
        make_environment(&self.venv, REQUIREMENTS)
    }

    /// Assembles the packages as an installation would: Python sources next to the module that
    /// cargo built.
    fn assemble(&self) -> Result<(), String> {
        if self.packages.is_dir() {
            fs::remove_dir_all(&self.packages)
                .map_err(|error| format!("{}: {error}", self.packages.display()))?;
        }
        for Package { directory, name } in PACKAGES {
            let to = self.packages.join(name);
            copy_sources(&self.root.join(directory).join("python").join(name), &to)?;
            let (prefix, suffix) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
            let module = self.built.join(format!("{prefix}_{name}{suffix}"));
            let loaded = if cfg!(windows) { "pyd" } else { "abi3.so" };
            copy(&module, &to.join(format!("_{name}.{loaded}")))?;
        }
        Ok(())
    }
}

/// Makes an environment of Python, unless one with the same requirements exists.
pub(crate) fn make_environment(venv: &Path, requirements: &str) -> Result<(), String> {
    let stamp = venv.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == requirements) {
        return Ok(());
    }
    let program = env::var_os("PYTHON").unwrap_or_else(|| OsString::from("python3"));
    let mut create = Command::new(&program);
    create.args(["-m", "venv", "--clear"]).arg(venv);
    cargo::wait(&mut create).map_err(|why| {
        let program = program.to_string_lossy();
        format!(
            "{program} -m venv: {why}; the packages need Python 3.10 or newer (set the variable \
             PYTHON to choose one)"
        )
    })?;
    let wanted = venv.join("wanted.txt");
    write(&wanted, requirements.as_bytes())?;
    let mut install = Command::new(interpreter(venv));
    install.args(["-m", "pip", "install", "--quiet"]);
    install.args(["--disable-pip-version-check", "--requirement"]);
    cargo::wait(install.arg(&wanted)).map_err(|why| format!("pip install: {why}"))?;
    // The stamp is written last, so that an interrupted installation starts again.
    fs::rename(&wanted, &stamp).map_err(|error| format!("{}: {error}", stamp.display()))
}

/// The interpreter of an environment.
pub(crate) fn interpreter(venv: &Path) -> PathBuf {
    if cfg!(windows) {
        venv.join("Scripts").join("python.exe")
    } else {
        venv.join("bin").join("python")
    }
}

/// Copies the sources of a package, without modules and caches of other builds.
fn copy_sources(from: &Path, to: &Path) -> Result<(), String> {
    let fail = |error| format!("{}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() && name != "__pycache__" {
            copy_sources(&path, &to.join(name))?;
        } else if path.is_file()
            && path
                .extension()
                .is_none_or(|kind| kind != "so" && kind != "pyd")
        {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    write(to, &bytes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, bytes));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_copied_without_modules_and_caches() {
        let home = env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        let from = home.join("from");
        for file in [
            "a.py",
            "b/c.pyi",
            "_a.abi3.so",
            "__pycache__/a.pyc",
            "py.typed",
        ] {
            write(&from.join(file), file.as_bytes()).unwrap();
        }
        let to = home.join("to");
        copy_sources(&from, &to).unwrap();
        let copied = ["a.py", "b/c.pyi", "py.typed"];
        assert!(copied.iter().all(|file| to.join(file).is_file()));
        assert!(!to.join("_a.abi3.so").exists() && !to.join("__pycache__").exists());
        fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = copy_sources(Path::new("no-such-directory"), Path::new("nowhere")).unwrap_err();
        assert!(why.starts_with("no-such-directory: "), "{why}");
    }
}

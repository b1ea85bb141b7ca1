//! Folders, pictures and arrays for tests, and the program itself.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::picture::{self, Depth};

/// A folder for one test, which is removed when it is dropped. The program runs in it.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("program-{name}-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder for tests");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A new file.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        make_parent(&path);
        fs::write(&path, content).expect("a file for tests");
        path
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A picture of two areas with a line between them, different for each `seed`.
    pub(crate) fn picture(&self, name: &str, width: usize, height: usize, seed: usize) -> PathBuf {
        let path = self.path(name);
        make_parent(&path);
        let plane = plane(width, height, seed);
        picture::write(&path, width, height, &[&plane], Depth::Eight).expect("a picture");
        path
    }

    /// The same with three channels and 16 bits.
    pub(crate) fn colours(&self, name: &str, width: usize, height: usize, seed: usize) -> PathBuf {
        let path = self.path(name);
        make_parent(&path);
        let planes: Vec<Vec<f64>> = (0..3).map(|c| plane(width, height, seed + c)).collect();
        let planes: Vec<&[f64]> = planes.iter().map(Vec::as_slice).collect();
        picture::write(&path, width, height, &planes, Depth::Sixteen).expect("a picture");
        path
    }

    /// Two small pictures in a folder.
    pub(crate) fn photos(&self, folder: &str) {
        for seed in 0..2 {
            self.picture(&format!("{folder}/{seed}.png"), 12, 10, seed);
        }
    }

    /// A real array.
    pub(crate) fn array(&self, name: &str, shape: &[usize], values: Vec<f64>) -> PathBuf {
        let path = self.path(name);
        array::write(&path, shape, &ArrayValues::Real(values)).expect("an array");
        path
    }

    /// The program with its arguments, in this folder.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bilevel"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    /// Runs the program on arguments with spaces between them.
    pub(crate) fn run(&self, args: &str) -> Ended {
        let args: Vec<&str> = args.split_whitespace().collect();
        let output = self.command(&args).output().expect("the program starts");
        Ended::new(args.join(" "), &output)
    }

    /// Runs the program, which must succeed.
    pub(crate) fn good(&self, args: &str) -> Ended {
        let ended = self.run(args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    }

    /// Runs the program, which must fail with this code and a message that has all `parts`.
    pub(crate) fn bad(&self, args: &str, code: i32, parts: &[&str]) -> Ended {
        let ended = self.run(args);
        ended.failed(code, parts);
        ended
    }

    /// Starts the program and does not wait.
    pub(crate) fn start(&self, args: &str) -> Running {
        let args: Vec<&str> = args.split_whitespace().collect();
        let mut command = self.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().expect("the program starts"))
    }

    /// Returns the sorted names in a folder; none if there is no folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let name = |entry: std::io::Result<fs::DirEntry>| {
            let name = entry.expect("a folder that can be listed").file_name();
            name.to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Returns the number of evaluations in the history of a run.
    pub(crate) fn evaluations(&self, run: &str) -> usize {
        let text = fs::read_to_string(self.path(run).join("history.jsonl")).unwrap_or_default();
        text.lines()
            .filter(|line| line.starts_with("{\"evaluation\""))
            .count()
    }

    /// Waits until a run has more than `before` evaluations; `false` if the program ends first.
    pub(crate) fn wait_beyond(&self, before: usize, run: &str, running: &mut Running) -> bool {
        let begin = Instant::now();
        while self.evaluations(run) <= before {
            if running.has_ended() {
                return false;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it hangs");
            sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The running program, which is killed when it is dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) const fn new(child: Child) -> Self {
        Self(Some(child))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is under way")
    }

    pub(crate) fn id(&mut self) -> String {
        self.child().id().to_string()
    }

    fn has_ended(&mut self) -> bool {
        let status = self.child().try_wait();
        status.expect("the program can be asked").is_some()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self, args: String) -> Ended {
        let child = self.0.take().expect("it is under way");
        Ended::new(args, &child.wait_with_output().expect("the program ends"))
    }

    /// Ends it without a warning.
    pub(crate) fn kill(mut self) {
        self.child().kill().expect("the program can be killed");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The output of the program and its exit code.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) args: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn new(args: String, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        Self {
            args,
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Checks that the program has failed with this code and a message that has all `parts`.
    pub(crate) fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is missing: {self:?}");
        }
        assert!(
            !self.err.contains("panicked"),
            "{}: {}",
            self.args,
            self.err
        );
    }

    /// The values of `--json`, one for each line.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let event = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.out.lines().map(event).collect()
    }
}

/// Two areas with a line between them.
fn plane(width: usize, height: usize, seed: usize) -> Vec<f64> {
    let value = |index: usize| {
        let (row, column) = (index / width, index % width);
        let is_bright = row * (seed % 3 + 1) + column * 2 > width + height / 2;
        if is_bright { 0.8 } else { 0.2 }
    };
    (0..width * height).map(value).collect()
}

fn make_parent(path: &Path) {
    let parent = path.parent().expect("a file is in a folder");
    fs::create_dir_all(parent).expect("a folder for tests");
}

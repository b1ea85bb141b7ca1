//! Tests with small files in place of photographs, in temporary directories.

use std::process;

use super::*;

const PICTURES: [&[u8]; 3] = [b"one", b"two", b"three"];

/// A new directory with some of the pictures, which is deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, pictures: &[usize]) -> Self {
        let name = format!("experiments-kodak-{name}-{}", process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        for &index in pictures {
            folder.put(index, PICTURES[index]);
        }
        folder
    }

    fn put(&self, index: usize, content: &[u8]) {
        fs::write(self.0.join(name(index)), content).unwrap();
    }

    fn url(&self) -> String {
        format!("file://{}/", self.0.display())
    }

    fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap());
        let content = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        };
        let mut all: Vec<_> = entries.map(content).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(index: usize) -> String {
    format!("kodim{:02}.png", index + 1)
}

fn sums() -> [String; 3] {
    PICTURES.map(checksum)
}

fn get(folder: &Path, mirrors: &[String]) -> (Result<()>, String) {
    let sums = sums();
    let mut out = Vec::new();
    let sums: Vec<&str> = sums.iter().map(String::as_str).collect();
    let done = fetch(folder, mirrors, &sums, Downloader::find, &mut out);
    (done, String::from_utf8(out).unwrap())
}

fn look(given: Option<&Path>, usual: &Path) -> Result<Option<PathBuf>> {
    let sums = sums();
    find_among(given, usual, &sums.each_ref().map(String::as_str))
}

/// Whether there is `curl`: `wget` does not support `file://`.
fn has_curl() -> bool {
    let has = Downloader::find() == Some(Downloader::Curl);
    if !has {
        eprintln!("skipped: no curl");
    }
    has
}

#[test]
fn what_is_missing_is_downloaded_and_what_is_wrong_replaced() {
    if !has_curl() {
        return;
    }
    let mirror = Folder::new("good", &[0, 1, 2]);
    let folder = Folder::new("got", &[1]);
    folder.put(2, b"something else");
    let (done, out) = get(&folder.0, &[mirror.url()]);
    done.unwrap();
    assert_eq!(folder.contents(), mirror.contents());
    assert!(out.contains("kodim02.png is there"), "{out}");
    assert_eq!(out.matches("downloaded from file://").count(), 2, "{out}");

    let (done, out) = get(&folder.0, &[]);
    done.unwrap();
    assert_eq!(out.matches("is there").count(), 3, "{out}");
}

#[test]
fn the_next_mirror_has_what_the_first_lacks_or_spoils() {
    if !has_curl() {
        return;
    }
    let spoilt = Folder::new("spoilt", &[0]);
    spoilt.put(1, b"<html>Sign in to this network</html>");
    let good = Folder::new("second", &[0, 1, 2]);
    let folder = Folder::new("both", &[]);
    let (done, out) = get(&folder.0, &[spoilt.url(), good.url()]);
    done.unwrap();
    assert_eq!(folder.contents(), good.contents());
    let from = |folder: &Folder| out.matches(&folder.url()).count();
    assert_eq!((from(&spoilt), from(&good)), (1, 2), "{out}");
}

#[test]
fn a_failure_names_files_and_reasons_and_keeps_nothing_wrong() {
    if !has_curl() {
        return;
    }
    let mirror = Folder::new("bad", &[0]);
    mirror.put(1, b"something else");
    let folder = Folder::new("partly", &[]);
    let (done, out) = get(&folder.0, &[mirror.url()]);
    let message = done.unwrap_err().to_string();
    assert!(message.starts_with("2 of 3 photographs"), "{message}");
    let found = checksum(b"something else");
    for part in [
        "kodim02.png: file://",
        &found,
        "kodim03.png: file://",
        "curl: (37)",
        "--mirror",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(!message.contains("kodim01.png"), "{message}");
    assert_eq!(out.matches("cannot be downloaded").count(), 2, "{out}");
    assert_eq!(
        folder.contents(),
        [("kodim01.png".to_owned(), b"one".to_vec())]
    );
}

#[test]
fn a_mirror_that_does_not_answer_is_asked_once() {
    if !has_curl() {
        return;
    }
    let folder = Folder::new("lonely", &[]);
    // A protocol that curl does not know: no network is needed to fail.
    let (done, _) = get(&folder.0, &["nowhere://a".to_owned()]);
    let message = done.unwrap_err().to_string();
    assert_eq!(message.matches("nowhere://a").count(), 1, "{message}");
    let reason = "no mirror can be reached";
    assert_eq!(message.matches(reason).count(), 2, "{message}");
    assert_eq!(folder.contents(), []);
}

#[test]
fn without_curl_and_wget_the_message_says_what_to_do() {
    let folder = Folder::new("none", &[0]);
    let sums = sums();
    let sums = sums.each_ref().map(String::as_str);
    let mirrors = ["http://example.org".to_owned()];
    let done = fetch(&folder.0, &mirrors, &sums, || None, &mut Vec::new());
    let message = done.unwrap_err().to_string();
    for part in [
        "neither curl nor wget",
        "the 2 missing",
        "http://example.org",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_complete_folder_is_found() {
    let folder = Folder::new("complete", &[0, 1, 2]);
    let nowhere = folder.0.join("nowhere");
    let found = Some(folder.0.clone());
    assert_eq!(look(Some(&folder.0), &nowhere).unwrap(), found);
    assert_eq!(look(None, &folder.0).unwrap(), found);
    assert_eq!(look(None, &nowhere).unwrap(), None);
}

#[test]
fn an_incomplete_folder_is_an_error_given_or_not() {
    let folder = Folder::new("incomplete", &[1]);
    let nowhere = folder.0.join("nowhere");
    for done in [look(Some(&folder.0), &nowhere), look(None, &folder.0)] {
        let message = done.unwrap_err().to_string();
        for part in ["lacks kodim01.png, kodim03.png;", "cargo xtask fetch-kodak"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("kodim02.png"), "{message}");
    }
    let message = look(Some(&nowhere), &folder.0).unwrap_err().to_string();
    assert!(message.contains("there is no directory"), "{message}");
}

#[test]
fn other_photographs_are_an_error_given_or_not() {
    let folder = Folder::new("other", &[0, 1, 2]);
    folder.put(2, b"something else");
    let nowhere = folder.0.join("nowhere");
    for done in [look(Some(&folder.0), &nowhere), look(None, &folder.0)] {
        let message = done.unwrap_err().to_string();
        assert!(message.starts_with("kodim03.png in "), "{message}");
        let part = "is not the photograph of the paper";
        assert!(message.contains(part), "{message}");
    }
    folder.put(0, b"something else");
    fs::remove_file(folder.0.join(name(1))).unwrap();
    let message = look(Some(&folder.0), &nowhere).unwrap_err().to_string();
    for part in ["lacks kodim02.png;", "kodim01.png, kodim03.png in "] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn the_pinned_photographs_are_the_ones_of_the_archive() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/kodak");
    if !folder.is_dir() {
        eprintln!("skipped: no folder {}", folder.display());
        return;
    }
    assert_eq!(find(Some(&folder)).unwrap(), Some(folder));
}

//! Downloads by a program that the system has, checked before they are kept.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fmt, fs, io};

use crate::reproduce::record::checksum;

/// A program that downloads files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Downloader {
    Curl,
    Wget,
}

/// Why there is no file.
#[derive(Debug)]
pub(super) enum DownloadFailure {
    /// There is nobody at the address.
    Unreachable(String),
    /// The file is not there.
    Refused(String),
    /// It is another file, of this checksum.
    Other(String),
    /// It cannot be kept.
    Local(io::Error),
}

impl fmt::Display for DownloadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(message) | Self::Refused(message) => f.write_str(message),
            Self::Other(sum) => write!(f, "is another file (SHA-256 {sum}), not kept"),
            Self::Local(error) => write!(f, "cannot be kept: {error}"),
        }
    }
}

impl Downloader {
    /// One that is installed.
    pub(super) fn find() -> Option<Self> {
        let is_there = |tool: &Self| {
            let mut command = Command::new(tool.program());
            command.arg("--version").stdin(Stdio::null());
            command.output().is_ok_and(|done| done.status.success())
        };
        [Self::Curl, Self::Wget].into_iter().find(is_there)
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Wget => "wget",
        }
    }

    /// Makes or replaces a file if what is at `url` has this checksum.
    pub(super) fn download(self, url: &str, path: &Path, sum: &str) -> Result<(), DownloadFailure> {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        let done = self.get(url, &temporary).and_then(|()| {
            let found = checksum(&fs::read(&temporary).map_err(DownloadFailure::Local)?);
            if found != sum {
                return Err(DownloadFailure::Other(found));
            }
            fs::rename(&temporary, path).map_err(DownloadFailure::Local)
        });
        if done.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary);
        }
        done
    }

    fn get(self, url: &str, to: &Path) -> Result<(), DownloadFailure> {
        let done = self.command(url, to.as_os_str()).output();
        let done = done.map_err(DownloadFailure::Local)?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.trim().lines().next_back();
        let message = last.map_or_else(
            || format!("{} failed with {}", self.program(), done.status),
            str::to_owned,
        );
        if self.was_answered(done.status.code()) {
            Err(DownloadFailure::Refused(message))
        } else {
            Err(DownloadFailure::Unreachable(message))
        }
    }

    fn command(self, url: &str, to: &OsStr) -> Command {
        let mut command = Command::new(self.program());
        match self {
            Self::Curl => {
                command.args(["--fail", "--silent", "--show-error", "--location"]);
                command.args(["--connect-timeout", "20", "--max-time", "300"]);
                command.args(["--retry", "2", "--url", url, "--output"]);
                command.arg(to);
            }
            Self::Wget => {
                command.args(["--no-verbose", "--timeout=20", "--tries=3"]);
                command.arg("--output-document").arg(to).args(["--", url]);
            }
        }
        command.stdin(Stdio::null());
        command
    }

    /// Whether the program failed because of what it was told, not because nobody answered: an HTTP
    /// error (22 and 8), a file that cannot be read (37), or one that cannot be written (23 and 3).
    const fn was_answered(self, code: Option<i32>) -> bool {
        match self {
            Self::Curl => matches!(code, Some(22 | 23 | 37)),
            Self::Wget => matches!(code, Some(3 | 8)),
        }
    }
}

//! Downloads with `curl` or `wget`, and verification of their checksums.

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

/// The reason why a download failed.
#[derive(Debug)]
pub(super) enum DownloadFailure {
    /// No server answers at the address.
    Unreachable(String),
    /// The server does not have the file.
    Refused(String),
    /// The server has another file, with this checksum.
    Other(String),
    /// The file cannot be written.
    Local(io::Error),
}

impl fmt::Display for DownloadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(message) | Self::Refused(message) => f.write_str(message),
            Self::Other(sum) => write!(f, "another file (SHA-256 {sum}), discarded"),
            Self::Local(error) => write!(f, "cannot write the file: {error}"),
        }
    }
}

impl Downloader {
    /// Returns a downloader that is installed.
    pub(super) fn find() -> Option<Self> {
        let is_installed = |downloader: &Self| {
            let mut command = Command::new(downloader.program());
            command.arg("--version").stdin(Stdio::null());
            command.output().is_ok_and(|done| done.status.success())
        };
        [Self::Curl, Self::Wget].into_iter().find(is_installed)
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Wget => "wget",
        }
    }

    /// Writes the file at `url` to `path` if it has this checksum.
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
            // The first error is reported, not one of this clean-up.
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
        let stderr = String::from_utf8_lossy(&done.stderr);
        let last = stderr.trim().lines().next_back();
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

    /// Whether this exit code means that the server answered: an HTTP error (22 and 8), a file that
    /// cannot be read (37), or one that cannot be written (23 and 3).
    const fn was_answered(self, code: Option<i32>) -> bool {
        match self {
            Self::Curl => matches!(code, Some(22 | 23 | 37)),
            Self::Wget => matches!(code, Some(3 | 8)),
        }
    }
}

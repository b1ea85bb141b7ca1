//! Denoising pictures, folders and stacks.

use bilevel_cli::picture::{self, Colour};
#[cfg(unix)]
use std::process::Command;

use crate::scene::TempDir;

#[test]
fn pictures() {
    let temp = TempDir::new("denoise");
    temp.picture("grey.png", 13, 9, 0);
    temp.colours("colours.png", 13, 9, 0);
    temp.picture("grey.tif", 13, 9, 0);
    temp.array("grey.npy", &[6, 5], vec![0.5; 30]);
    for (args, channels, about) in [
        (
            "grey.png a.png --noise 0.1",
            1,
            "13 x 9 pixels, noise 0.1 (given)",
        ),
        ("colours.png b.png --noise 0.05", 3, "noise 0.05 (given)"),
        ("grey.tif c.tif --noise 0.1", 1, "(root mean square)"),
        ("grey.npy d.npy --noise 0.1", 1, "5 x 6 pixels"),
        ("colours.png e.tif --noise 0.1 --colour grey", 1, "e.tif"),
        (
            "grey.png f.png --noise 0.1 --accuracy 1e-5",
            1,
            "e-6 from the exact minimiser (root mean square)",
        ),
    ] {
        let ended = temp.good(&format!("denoise {args}"));
        assert_eq!(ended.out.lines().count(), 1, "{ended:?}");
        assert!(ended.out.contains(about), "{ended:?}");
        let output = args.split(' ').nth(1).unwrap();
        let picture = picture::read(&temp.path(output), Colour::Channels).unwrap();
        assert_eq!(picture.channels.len(), channels, "{args}");
    }
    let ended = temp.good("denoise grey.png a.png --noise 0.1 --quiet");
    assert_eq!((&ended.out[..], &ended.err[..]), ("", ""));
    let ended = temp.good("denoise grey.png a.png --noise 0.1 --json");
    let done: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(done[0]["pictures"][0]["noise"], 0.1);
    assert_eq!(done[0]["pictures"][0]["is_estimated"], false);
}

/// The first command of the front page, on a picture of the repository.
#[test]
fn the_first_command() {
    let temp = TempDir::new("denoise-first");
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../imaging/tests/data");
    let ended = temp.good(&format!("denoise {data}/camera_noisy.png clean.png"));
    assert!(ended.out.contains("(estimated)"), "{ended:?}");
    let read = |path: &std::path::Path| picture::read(path, Colour::Luminance).unwrap();
    let path = |name: &str| std::path::Path::new(data).join(name);
    let [truth, noisy] = ["camera.png", "camera_noisy.png"].map(|name| read(&path(name)));
    let clean = read(&temp.path("clean.png"));
    let distance = |picture: &picture::Picture| -> f64 {
        let pairs = picture.channels[0].iter().zip(&truth.channels[0]);
        pairs.map(|(a, b)| (a - b).powi(2)).sum()
    };
    assert!(distance(&clean) < 0.3 * distance(&noisy));
}

#[test]
fn folders_and_stacks() {
    let temp = TempDir::new("denoise-folder");
    temp.photos("in");
    temp.colours("in/2.tif", 7, 5, 0);
    let ended = temp.good("denoise in out --noise 0.1 --threads 1");
    assert_eq!(ended.out.lines().count(), 3, "{ended:?}");
    assert_eq!(temp.names("out"), ["0.png", "1.png", "2.tif"]);
    temp.good("denoise in again --noise 0.1 --threads 3");
    for name in ["0.png", "1.png", "2.tif"] {
        let of = |folder: &str| temp.bytes(&format!("{folder}/{name}"));
        assert!(of("out") == of("again"), "{name}");
    }
    let page = picture::read(&temp.path("in/0.png"), Colour::Luminance).unwrap();
    let pages = [page.clone(), page.clone(), page];
    picture::write_pages(&temp.path("stack.tif"), &pages, picture::Depth::Eight).unwrap();
    let ended = temp.good("denoise stack.tif clean.tif --noise 0.1");
    assert_eq!(ended.out.lines().count(), 4, "{ended:?}");
    assert!(ended.out.contains("stack.tif[2]: 12 x 10"), "{ended:?}");
    assert!(ended.out.contains("clean.tif: 3 pages"), "{ended:?}");

    temp.file("in/bad.png", b"no picture");
    let parts = ["1 of 4 files failed", "bad.png", "convert it"];
    let ended = temp.bad("denoise in out --noise 0.1", 3, &parts);
    assert_eq!(ended.out.lines().count(), 3, "{ended:?}");
}

#[test]
fn what_cannot_be_denoised() {
    let temp = TempDir::new("denoise-bad");
    temp.photos("in");
    temp.array("counts.npy", &[5, 6], (0..30).map(f64::from).collect());
    temp.picture("small.png", 4, 9, 0);
    let before = temp.bytes("in/0.png");
    for (args, code, parts) in [
        ("none.png out.png", 3, ["no file or folder none.png", ""]),
        ("in/0.png out.gif --noise 0.1", 2, ["out.gif", ".png, .tif"]),
        (
            "in/0.png in/0.png",
            2,
            ["in/0.png would be overwritten", ""],
        ),
        ("in in", 2, ["would be overwritten", "another name"]),
        (
            "in clean.png",
            2,
            ["clean.png has the name of a file", "such as clean"],
        ),
        (
            "in/0.png none/out.png --noise 0.1",
            1,
            ["none/out.png", "create the folder"],
        ),
        ("in/0.png out.png --noise 0", 2, ["--noise is 0", "0.1"]),
        ("in/0.png out.png --noise -1", 2, ["--noise is -1", "0.1"]),
        ("in/0.png out.png --noise x", 2, ["--noise", "x"]),
        (
            "in/0.png out.png --accuracy 0",
            2,
            ["--accuracy is 0", "1e-3"],
        ),
        (
            "in/0.png out.png --range 5,1",
            2,
            ["--range is 5,1", "black and a larger white"],
        ),
        ("in/0.png out.png --range -1", 2, ["--range is -1", ""]),
        ("in/0.png out.png --depth 12", 2, ["--depth", "8"]),
        ("in/0.png out.png --colour red", 2, ["--colour", "opponent"]),
        (
            "in/0.png out.png --noise 0.1 --accuracy 1e-300",
            2,
            ["in/0.png cannot be denoised to --accuracy 1e-300", "1e-6"],
        ),
        (
            "counts.npy out.npy --noise 0.1",
            3,
            ["between 0 and 29", "--range 0,"],
        ),
        ("small.png out.png", 3, ["4 x 9 pixels", "--noise"]),
    ] {
        temp.bad(&format!("denoise {args}"), code, &parts);
    }
    assert_eq!(temp.bytes("in/0.png"), before);
    assert_eq!(temp.names(""), ["counts.npy", "in", "small.png"]);
    temp.good("denoise counts.npy out.npy --noise 0.1 --range 0,29");
}

#[cfg(unix)]
#[test]
fn an_interruption_leaves_no_half_file() {
    let temp = TempDir::new("denoise-interrupted");
    for index in 0..60 {
        temp.colours(&format!("in/{index:02}.png"), 150, 150, index);
    }
    let is_interrupted = |attempt: usize| {
        let out = format!("out{attempt}");
        let args = format!("denoise in {out} --noise 0.1 --accuracy 1e-3 --threads 2");
        let mut child = temp.start(&args);
        while temp.names(&out).len() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let id = child.id();
        let sent = Command::new("kill").args(["-s", "INT", &id]).status();
        assert!(sent.unwrap().success());
        let ended = child.ended(args);
        if ended.code == Some(0) {
            return false;
        }
        ended.failed(130, &["interrupted: finished files are complete"]);
        let names = temp.names(&out);
        assert!(names.len() < 60, "{names:?}");
        for name in names {
            let path = temp.path(&out).join(&name);
            picture::read(&path, Colour::Channels).unwrap_or_else(|error| panic!("{error}"));
        }
        true
    };
    assert!((0..5).any(is_interrupted));
}

//! Applying a run to pictures and folders.

use bilevel_cli::picture::{self, Colour};

use crate::scene::TempDir;

const LEARN: &str = "learn denoise --size 16 --count 2 --max-points 8 --quiet --out run";

/// Bits and kind of colour in the header of a PNG file.
fn header(bytes: &[u8]) -> [u8; 2] {
    [bytes[24], bytes[25]]
}

#[test]
fn pictures() {
    let temp = TempDir::new("apply");
    temp.good(LEARN);
    temp.picture("grey.png", 13, 9, 0);
    temp.colours("colours.png", 13, 9, 0);
    temp.picture("grey.tif", 13, 9, 0);
    temp.colours("colours.tiff", 13, 9, 0);
    for (args, channels) in [
        ("grey.png a.png", 1),
        ("colours.png b.png", 3),
        ("grey.tif c.tif", 1),
        ("colours.tiff d.tiff", 3),
        ("grey.png e.png --depth 16", 1),
        ("colours.tiff f.png --depth 16", 3),
        ("colours.png g.tif --accuracy 1e-5", 3),
    ] {
        let ended = temp.good(&format!("apply run {args}"));
        assert!(ended.out.contains("from the exact minimiser"), "{ended:?}");
        let output = args.split(' ').nth(1).unwrap();
        let picture = picture::read(&temp.path(output), Colour::Channels).unwrap();
        let size = (picture.width, picture.height, picture.channels.len());
        assert_eq!(size, (13, 9, channels), "{args}");
    }
    // as many bits as the input, or as requested; 0 is grey, 2 is RGB
    assert_eq!(header(&temp.bytes("colours.png")), [16, 2]);
    for (name, expected) in [
        ("a.png", [8, 0]),
        ("b.png", [16, 2]),
        ("e.png", [16, 0]),
        ("f.png", [16, 2]),
    ] {
        assert_eq!(header(&temp.bytes(name)), expected, "{name}");
    }
}

#[test]
fn folders() {
    let temp = TempDir::new("apply-folder");
    temp.good(LEARN);
    temp.photos("in");
    temp.colours("in/2.tif", 7, 5, 0);
    temp.picture("wide.tif", 7, 5, 0);
    let ended = temp.good("apply run in out --threads 1");
    assert_eq!(ended.out.lines().count(), 3, "{ended:?}");
    assert_eq!(temp.names("out"), ["0.png", "1.png", "2.tif"]);
    temp.good("apply run wide.tif out");
    assert_eq!(temp.names("out"), ["0.png", "1.png", "2.tif", "wide.tif"]);
    let ended = temp.good("apply run in again --quiet");
    assert_eq!((&ended.out[..], &ended.err[..]), ("", ""));
    for name in ["0.png", "1.png", "2.tif"] {
        let of = |folder: &str| temp.bytes(&format!("{folder}/{name}"));
        assert!(of("out") == of("again"), "{name}");
    }
}

#[test]
fn a_bad_file_does_not_stop_the_others() {
    let temp = TempDir::new("apply-bad");
    temp.good(LEARN);
    temp.photos("in");
    temp.file("in/bad.png", b"no picture");
    let parts = ["1 of 3 files failed", "bad.png", "convert it"];
    let ended = temp.bad("apply run in out", 3, &parts);
    assert_eq!(ended.out.lines().count(), 2, "{ended:?}");
    assert_eq!(temp.names("out"), ["0.png", "1.png"]);

    let ended = temp.bad("apply run in out --json", 3, &parts);
    let done: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(done.as_array().unwrap().len(), 2);
    assert_eq!(done[0]["reached"], true);
}

#[test]
fn what_cannot_be_read_or_written() {
    let temp = TempDir::new("apply-places");
    temp.good(LEARN);
    temp.photos("in");
    temp.file("plain", b"a file");
    let before = temp.bytes("in/0.png");
    for (args, code, parts) in [
        ("none.png out.png", 3, ["no file or folder none.png", ""]),
        (
            "in/0.png out.gif",
            2,
            ["out.gif", ".png, .tif, .tiff, .npy"],
        ),
        (
            "in/0.png in/0.png",
            2,
            ["in/0.png would be overwritten", "another name"],
        ),
        (
            "in/0.png in",
            2,
            ["0.png would be overwritten", "another name"],
        ),
        ("in in", 2, ["would be overwritten", "another name"]),
        (
            "in/0.png none/out.png",
            1,
            [
                "cannot write none/out.png",
                "create the folder that contains it",
            ],
        ),
        ("in plain", 1, ["plain", ""]),
        (
            "in/0.png out.png --accuracy 0",
            2,
            ["--accuracy is 0", "1e-3"],
        ),
        (
            "in/0.png out.png --accuracy -1",
            2,
            ["--accuracy is -1", "1e-3"],
        ),
        ("in/0.png out.png --depth 12", 2, ["--depth", "8"]),
        (
            "in/0.png out.png --mask in/1.png",
            2,
            [
                "--mask is for deblur and inpaint, but run is a run of denoise",
                "leave --mask out",
            ],
        ),
        (
            "in/0.png out.png --kernel disc:2",
            2,
            [
                "--kernel is for deblur, but run is a run of denoise",
                "leave --kernel out",
            ],
        ),
        (
            "in/0.png out.png --coils maps.npy",
            2,
            [
                "--coils is for mask, but run is a run of denoise",
                "leave --coils out",
            ],
        ),
    ] {
        temp.bad(&format!("apply run {args}"), code, &parts);
    }
    assert_eq!(temp.bytes("in/0.png"), before);
    assert_eq!(temp.bytes("plain"), b"a file");
    assert_eq!(temp.names(""), ["in", "plain", "run"]);
}

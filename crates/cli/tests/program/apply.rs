//! Applying a run to pictures and folders.

use bilevel_cli::picture::{self, Colour};

use crate::scene::Place;

const LEARN: &str = "learn denoise --size 16 --count 2 --evaluations 8 --quiet --out run";

/// Bits and kind of colour in the header of a PNG file.
fn header(bytes: &[u8]) -> [u8; 2] {
    [bytes[24], bytes[25]]
}

#[test]
fn pictures() {
    let place = Place::new("apply");
    place.good(LEARN);
    place.picture("grey.png", 13, 9, 0);
    place.colours("colours.png", 13, 9, 0);
    place.picture("grey.tif", 13, 9, 0);
    place.colours("colours.tiff", 13, 9, 0);
    for (args, channels) in [
        ("grey.png a.png", 1),
        ("colours.png b.png", 3),
        ("grey.tif c.tif", 1),
        ("colours.tiff d.tiff", 3),
        ("grey.png e.png --depth 16", 1),
        ("colours.tiff f.png --depth 16", 3),
        ("colours.png g.tif --accuracy 1e-5", 3),
    ] {
        let ended = place.good(&format!("apply run {args}"));
        assert!(ended.out.contains("certainly within"), "{ended:?}");
        let output = args.split(' ').nth(1).unwrap();
        let picture = picture::read(&place.path(output), Colour::Channels).unwrap();
        let size = (picture.width, picture.height, picture.channels.len());
        assert_eq!(size, (13, 9, channels), "{args}");
    }
    // 8 and 16 bits; 0 is grey, 2 is RGB
    for (name, expected) in [
        ("a.png", [8, 0]),
        ("b.png", [8, 2]),
        ("e.png", [16, 0]),
        ("f.png", [16, 2]),
    ] {
        assert_eq!(header(&place.bytes(name)), expected, "{name}");
    }
}

#[test]
fn folders() {
    let place = Place::new("apply-folder");
    place.good(LEARN);
    place.photos("in");
    place.colours("in/2.tif", 7, 5, 0);
    place.picture("wide.tif", 7, 5, 0);
    let ended = place.good("apply run in out --threads 1");
    assert_eq!(ended.out.lines().count(), 3, "{ended:?}");
    assert_eq!(place.names("out"), ["0.png", "1.png", "2.tif"]);
    place.good("apply run wide.tif out");
    assert_eq!(place.names("out"), ["0.png", "1.png", "2.tif", "wide.tif"]);
    let ended = place.good("apply run in again --quiet");
    assert_eq!((&ended.out[..], &ended.err[..]), ("", ""));
    for name in ["0.png", "1.png", "2.tif"] {
        let of = |folder: &str| place.bytes(&format!("{folder}/{name}"));
        assert!(of("out") == of("again"), "{name}");
    }
}

#[test]
fn a_bad_file_does_not_stop_the_others() {
    let place = Place::new("apply-bad");
    place.good(LEARN);
    place.photos("in");
    place.file("in/bad.png", b"no picture");
    let parts = ["1 of 3 files failed", "bad.png", "convert it"];
    let ended = place.bad("apply run in out", 3, &parts);
    assert_eq!(ended.out.lines().count(), 2, "{ended:?}");
    assert_eq!(place.names("out"), ["0.png", "1.png"]);

    let ended = place.bad("apply run in out --json", 3, &parts);
    let done: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(done.as_array().unwrap().len(), 2);
    assert_eq!(done[0]["reached"], true);
}

#[test]
fn what_cannot_be_read_or_written() {
    let place = Place::new("apply-places");
    place.good(LEARN);
    place.photos("in");
    place.file("plain", b"a file");
    let before = place.bytes("in/0.png");
    for (args, code, parts) in [
        ("none.png out.png", 3, ["cannot read none.png", ""]),
        ("in/0.png out.gif", 2, ["out.gif", ".png, .tif or .tiff"]),
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
            ["cannot write none/out.png", "make its folder first"],
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
            ["--mask", "for inpaint"],
        ),
    ] {
        place.bad(&format!("apply run {args}"), code, &parts);
    }
    assert_eq!(place.bytes("in/0.png"), before);
    assert_eq!(place.bytes("plain"), b"a file");
    assert_eq!(place.names(""), ["in", "plain", "run"]);
}

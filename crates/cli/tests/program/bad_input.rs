//! Images and settings that cannot be used: the message names them, and nothing is left behind.

use std::fs;

use crate::scene::TempDir;

/// A small run of its own images.
const SMALL: &str = "--max-points 8 --out run";

/// Checks that the program fails with a message that has all `parts`, and creates no run.
fn refused(temp: &TempDir, args: &str, code: i32, parts: &[&str]) {
    let ended = temp.bad(args, code, parts);
    assert!(ended.out.is_empty(), "{ended:?}");
    assert!(!temp.path("run").exists(), "{ended:?}");
}

#[test]
fn folders_without_pictures() {
    let temp = TempDir::new("folders");
    fs::create_dir(temp.path("empty")).unwrap();
    temp.file("notes/a.txt", b"text");
    for (folder, parts) in [
        ("empty", ["no pictures in", "empty", ".png"]),
        (
            "notes",
            ["no pictures in", "1 file, which is not a", ".png"],
        ),
        (
            "nowhere",
            ["there is no file or folder", "nowhere", "check the name"],
        ),
        ("notes/a.txt", ["a.txt", "convert it to", "not a PNG"]),
        ("notes/a.txt/b", ["b", "is not a folder", "or one file"]),
    ] {
        let args = format!("learn denoise --images {folder} {SMALL}");
        refused(&temp, &args, 3, &parts);
    }
    let args = format!("learn denoise --validation empty {SMALL}");
    refused(&temp, &args, 3, &["no pictures in", "empty"]);
}

#[test]
fn files_that_are_no_pictures() {
    let temp = TempDir::new("no-pictures");
    temp.file("text/b.png", b"this is text");
    let args = format!("learn denoise --images text {SMALL}");
    refused(&temp, &args, 3, &["b.png", "convert it to", "not a PNG"]);

    temp.file("nothing/c.png", b"");
    let args = format!("learn denoise --images nothing {SMALL}");
    refused(&temp, &args, 3, &["c.png"]);

    let whole = fs::read(temp.picture("whole.png", 12, 10, 0)).unwrap();
    for len in [9, 40, whole.len() / 2, whole.len() - 16] {
        temp.file("cut/d.png", &whole[..len]);
        let args = format!("learn denoise --images cut {SMALL}");
        let parts = ["d.png", "damaged or cut short", "copy it again"];
        refused(&temp, &args, 3, &parts);
    }
}

#[test]
fn one_pixel_is_a_picture() {
    let temp = TempDir::new("pixel");
    temp.picture("one/a.png", 1, 1, 0);
    temp.picture("one/b.png", 5, 1, 0);
    let ended = temp.good(&format!("learn denoise --images one {SMALL}"));
    assert!(ended.out.contains("alpha"), "{ended:?}");
    temp.good("apply run one/a.png pixel.png");
    assert!(temp.path("pixel.png").is_file());
}

#[test]
fn settings_without_truth_that_do_not_fit() {
    let temp = TempDir::new("blind");
    temp.photos("photos");
    temp.picture("flat/a.png", 1, 1, 0);
    let refuse = |args: &str, code, parts: &[&str]| {
        refused(&temp, &format!("learn denoise {args} {SMALL}"), code, parts);
    };
    refuse("--truth none", 2, &["--truth none needs --noisy"]);
    refuse(
        "--truth none --images photos --noisy photos",
        2,
        &["--truth", "--images"],
    );
    refuse(
        "--truth none --noisy photos --criterion truth",
        2,
        &["sure or gcv"],
    );
    refuse(
        "--truth none --noisy photos --image-min 0",
        2,
        &["--image-min", "limit"],
    );
    refuse(
        "--truth none --noisy photos --colour opponent",
        2,
        &["--truth", "--colour channels"],
    );
    refuse(
        "--criterion gcv --colour opponent",
        2,
        &["--criterion", "--colour channels"],
    );
    refuse(
        "--images photos --noisy photos --noise 0.1",
        2,
        &["--truth none"],
    );
    refuse("--truth none --noisy flat", 3, &["a.png", "--noise", "gcv"]);
    refuse(
        "--truth none --noisy photos --noise 0",
        2,
        &["noise", "positive"],
    );
}

#[test]
fn pairs_that_do_not_fit() {
    let temp = TempDir::new("pairs");
    temp.photos("clean");
    temp.picture("noisy/0.png", 12, 10, 0);
    let args = format!("learn denoise --images clean --noisy noisy {SMALL}");
    let parts = ["1.png", "has no partner in", "noisy", "same name"];
    refused(&temp, &args, 3, &parts);

    temp.picture("noisy/1.png", 10, 12, 0);
    let parts = ["12 x 10", "10 x 12", "1.png", "same size"];
    refused(&temp, &args, 3, &parts);

    temp.picture("noisy/1.png", 12, 10, 0);
    temp.picture("noisy/2.png", 12, 10, 0);
    refused(&temp, &args, 3, &["2.png", "has no partner in", "clean"]);

    temp.picture("noisy/1.tif", 12, 10, 0);
    refused(&temp, &args, 3, &["1.png", "1.tif", "keep one"]);
}

#[test]
fn arrays_that_do_not_fit() {
    let temp = TempDir::new("arrays");
    let path = temp.array("nan.npy", &[2, 8], vec![0.5; 16]);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len() - 8;
    bytes[end..].copy_from_slice(&f64::NAN.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let args = format!("learn sampling --images nan.npy {SMALL}");
    let parts = ["nan.npy", "[1, 7]", "NaN", "finite number"];
    refused(&temp, &args, 3, &parts);

    temp.file("cut.npy", &bytes[..bytes.len() - 24]);
    let args = format!("learn sampling --images cut.npy {SMALL}");
    refused(&temp, &args, 3, &["cut.npy", "damaged or cut short"]);

    temp.array("real.npy", &[2, 8], vec![0.5; 16]);
    let args = format!("learn sampling --images real.npy --noisy real.npy {SMALL}");
    refused(&temp, &args, 3, &["real.npy", "complex", "Fourier"]);

    let args = format!("learn sampling --images nowhere.npy {SMALL}");
    refused(
        &temp,
        &args,
        3,
        &[
            "there is no file or folder",
            "nowhere.npy",
            "check the name",
        ],
    );
}

#[test]
fn kernels_and_masks_that_do_not_fit() {
    let temp = TempDir::new("kernels");
    temp.photos("clean");
    temp.array("line.npy", &[3], vec![1.0 / 3.0; 3]);
    temp.picture("mask.png", 8, 8, 0);
    temp.file("mask.txt", b"no mask");
    let with = |task: &str| format!("learn {task} --images clean {SMALL}");
    for (task, code, parts) in [
        (
            "deblur",
            2,
            [
                "deblur needs --kernel (data.kernel in a settings file)",
                "name a file with the blur kernel, or its shape",
                "as in --kernel gaussian:2",
            ],
        ),
        (
            "inpaint",
            2,
            [
                "inpaint needs --mask",
                "name a picture",
                "as in --mask mask.png",
            ],
        ),
        (
            "denoise --kernel line.npy",
            2,
            ["--kernel", "for deblur", "leave it out"],
        ),
        (
            "deblur --kernel line.npy",
            3,
            ["line.npy", "[3]", "two axes"],
        ),
        (
            "deblur --kernel disc:0",
            3,
            ["disc:0", "describes no kernel", "gaussian:2"],
        ),
        (
            "deblur --kernel gauss:5",
            3,
            ["\"gauss:5\"", "describes no kernel", "gaussian:2"],
        ),
        (
            "deblur --kernel gaussian:5",
            3,
            ["31 x 31", "10 x 12", "use a smaller kernel"],
        ),
        (
            "deblur --kernel none.npy",
            3,
            ["there is no file or folder", "none.npy", "check the name"],
        ),
        (
            "deblur --kernel clean",
            3,
            ["clean is a folder", "a file is needed", "name a file in it"],
        ),
        (
            "inpaint --mask mask.png",
            3,
            ["mask.png", "8 x 8", "12 x 10"],
        ),
        ("inpaint --mask mask.txt", 3, ["mask.txt", "convert", "PNG"]),
    ] {
        refused(&temp, &with(task), code, &parts);
    }
}

#[test]
fn settings_that_make_no_sense() {
    let temp = TempDir::new("settings");
    for (args, parts) in [
        ("--learn gamma", ["--learn", "\"gamma\"", "alpha, nu, xi"]),
        (
            "--lower alpha=1 --upper alpha=0.1",
            ["bound 1 of alpha", "--lower", "--upper"],
        ),
        ("--noise -1", ["--noise", "is -1", "zero or a positive"]),
        ("--noise much", ["--noise", "much", "a number, such as 0.1"]),
        ("--count x", ["--count", "x", "a whole number, such as 10"]),
        ("--count -1", ["--count", "-1", "a whole number"]),
        ("--noise nan", ["--noise", "NaN", "must be"]),
        ("--fix alpha", ["--fix", "\"alpha\"", "alpha=0.1"]),
        (
            "--start alpha=1e9",
            ["alpha starts at", "--start", "--upper"],
        ),
        ("--max-points 0", ["--max-points", "is 0", "at least 1"]),
        ("--threads 0", ["--threads", "0", "a positive whole number"]),
        ("--crop 0", ["--crop", "is 0", "at least 1"]),
        ("--method newton", ["--method", "newton", "fista"]),
        ("--noize 1", ["--noize", "--noise", "--help"]),
        (
            "--noisy a --noise 1",
            ["--noisy", "--noise", "cannot be used with"],
        ),
    ] {
        let args = format!("learn denoise {args} --out run");
        refused(&temp, &args, 2, &parts);
    }
    refused(&temp, "learn denoise", 2, &["--out"]);
    refused(&temp, "learn --out run", 2, &["denoise", "bilevel learn"]);
    let args = "learn denoise --size 16 --count 2 --hold-out 2 --out run";
    refused(&temp, args, 3, &["--hold-out is 2", "there are 2 images"]);
}

#[test]
fn files_of_settings_that_make_no_sense() {
    let temp = TempDir::new("toml");
    temp.file("s.toml", b"task = \"denoise\"\n\n[data]\nnoize = 0.1\n");
    let parts = ["s.toml, line 4, data.noize", "`noize`", "`noise`"];
    refused(&temp, "learn --config s.toml --out run", 2, &parts);
    temp.file("t.toml", b"task = \"denoise\"\n[data]\nnoise = -1.0\n");
    let parts = ["data.noise", "is -1"];
    refused(&temp, "learn --config t.toml --out run", 2, &parts);
    let args = "learn deblur --config t.toml --out run";
    refused(&temp, args, 2, &["t.toml", "denoise", "deblur"]);
    temp.file("u.toml", b"task = \"denoise\"\ndata.noise = \"much\"\n");
    let parts = ["u.toml, line 2, data.noise", "must be a number"];
    refused(&temp, "learn --config u.toml --out run", 2, &parts);
    refused(&temp, "learn --config . --out run", 2, &["is a folder"]);
    let args = "learn --config none.toml --out run";
    refused(&temp, args, 2, &["there is no file or folder none.toml"]);
}

#[test]
fn a_size_for_images_that_are_not_built_in() {
    let temp = TempDir::new("size-of-images");
    temp.photos("photos");
    let parts = ["--size", "--images", "cannot be used together", "--crop N"];
    temp.bad(
        "learn denoise --images photos --size 128 --out run",
        2,
        &parts,
    );
    temp.file("some.toml", b"[data]\nimages = \"photos\"\n");
    temp.bad(
        "learn denoise --config some.toml --size 9 --out run",
        2,
        &parts,
    );
    assert!(!temp.path("run").exists());
}

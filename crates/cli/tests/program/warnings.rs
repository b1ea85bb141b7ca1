//! Warnings about data that are probably not what the user intended. The run starts all the same.

use crate::scene::TempDir;

/// Learns, and checks that there is one warning, which has all `parts`.
fn warned(temp: &TempDir, args: &str, parts: &[&str]) {
    let ended = temp.good(&format!("learn denoise {args} --max-points 5 --out run"));
    let warnings: Vec<&str> = (ended.err.lines())
        .filter(|line| line.starts_with("bilevel: warning: "))
        .collect();
    assert_eq!(warnings.len(), usize::from(!parts.is_empty()), "{ended:?}");
    for part in parts {
        assert!(warnings[0].contains(part), "{part:?} is missing: {ended:?}");
    }
    std::fs::remove_dir_all(temp.path("run")).expect("the run is there");
}

#[test]
fn measured_pictures_that_are_the_clean_ones() {
    let temp = TempDir::new("equal");
    temp.photos("photos");
    temp.photos("copies");
    for noisy in ["photos", "copies"] {
        let args = format!("--images photos --noisy {noisy}");
        let parts = ["(--noisy) equal the clean ones", noisy, "leave --noisy out"];
        warned(&temp, &args, &parts);
    }
    temp.picture("copies/1.png", 12, 10, 5);
    warned(&temp, "--images photos --noisy copies", &[]);
}

/// The unit of the noise is checked without truth, too.
#[test]
fn noise_of_grey_values_for_pictures_from_zero_to_one() {
    let temp = TempDir::new("unit");
    temp.photos("photos");
    for learned in ["--images photos", "--truth none --noisy photos"] {
        let warning = "--noise is 25, but black is 0 and white is 1 in these pictures";
        let args = format!("{learned} --noise 25");
        warned(&temp, &args, &[warning, "(here 0.098)"]);
        warned(&temp, &format!("{learned} --noise 0.1"), &[]);
    }
}

#[test]
fn validation_pictures_that_are_training_pictures() {
    let temp = TempDir::new("repeated");
    temp.photos("photos");
    let part = "2 of 2 held-out images are also learned from (such as 0.png)";
    let args = "--images photos --validation photos";
    warned(&temp, args, &[part, "hold out different ones"]);
    temp.picture("others/0.png", 12, 10, 5);
    warned(&temp, "--images photos --validation others", &[]);
    let part = "1 of 1 held-out image is also learned from (such as 1.png)";
    warned(&temp, "--images photos --validation photos/1.png", &[part]);
}

#[test]
fn pictures_smaller_than_the_crop() {
    let temp = TempDir::new("small");
    temp.photos("photos");
    let part =
        "--crop is 11, but 2 of 2 pictures have a shorter side, such as 0.png (11 x 10 pixels";
    warned(
        &temp,
        "--images photos --crop 11",
        &[part, "is not cropped"],
    );
    warned(&temp, "--images photos --crop 10", &[]);
    warned(
        &temp,
        "--size 16 --count 2 --crop 17",
        &["built-in 1 (16 x 16"],
    );
}

#[test]
fn more_images_than_there_are() {
    let temp = TempDir::new("count");
    temp.photos("photos");
    let part = "--count is 3, but ";
    let parts = [part, "photos has only 2 images: all of them are used"];
    warned(&temp, "--images photos --count 3", &parts);
    let blind = "--truth none --noisy photos --noise 0.1";
    warned(&temp, &format!("{blind} --count 3"), &parts);
    warned(&temp, blind, &[]);
    warned(&temp, "--images photos --count 2", &[]);
}

#[test]
fn a_size_in_a_file_for_images_that_are_not_built_in() {
    let temp = TempDir::new("size");
    temp.photos("photos");
    let file = |size| format!("[data]\nimages = \"photos\"\nsize = {size}\n");
    temp.file("some.toml", file(17).as_bytes());
    let parts = ["--size (data.size in a settings file) is 17", "--crop"];
    warned(&temp, "--config some.toml", &parts);
    let blind = "--truth none --noisy photos --noise 0.1";
    warned(&temp, &format!("{blind} --size 17"), &parts);
    // the default, which printed files have
    temp.file("some.toml", file(128).as_bytes());
    warned(&temp, "--config some.toml", &[]);
}

#[test]
fn arrays_next_to_pictures() {
    let temp = TempDir::new("ignored");
    temp.photos("photos");
    temp.array("photos/a.npy", &[2, 2], vec![0.5; 4]);
    let part = "1 .npy file in";
    let advice = "move arrays to a folder of their own";
    let parts = [
        part,
        "is ignored, such as a.npy",
        "also holds pictures",
        advice,
    ];
    warned(&temp, "--images photos", &parts);
    temp.good("learn denoise --images photos --max-points 5 -q --out kept");
    let ended = temp.good("apply kept photos clean");
    assert!(
        ended.err.contains("1 .npy file in photos is ignored"),
        "{ended:?}"
    );
    assert_eq!(temp.names("clean"), ["0.png", "1.png"]);
    // a file that is used for something else is no mistake
    temp.array("photos/a.npy", &[3, 3], vec![1.0 / 9.0; 9]);
    let args = "learn deblur --images photos --kernel photos/a.npy --max-points 5 --out blur";
    let ended = temp.good(args);
    assert!(!ended.err.contains("ignored"), "{ended:?}");
}

/// The file was written by `tifffile` 2026.3.3, from an array that may be a stack of three pages:
/// `a = (numpy.arange(3 * 6 * 8) * 37 % 251).astype("u1").reshape(3, 6, 8)` and
/// `tifffile.imwrite("planes.tif", a)`.
#[test]
fn stacks_that_say_that_they_are_pictures_in_colour() {
    let temp = TempDir::new("planes");
    temp.file("planes.tif", include_bytes!("../data/planes.tif"));
    let part = "planes.tif is read as one picture in colour, as the file says";
    let parts = [part, "photometric='minisblack'"];
    warned(&temp, "--images planes.tif", &parts);
    temp.good("learn denoise --colour channels --size 8 --max-points 5 -q --out run");
    for command in ["denoise --noise 0.1", "apply run"] {
        let ended = temp.good(&format!("{command} planes.tif clean.tif"));
        assert!(ended.err.contains(part), "{ended:?}");
    }
    temp.good("denoise --noise 0.1 --colour grey planes.tif grey.tif -q");
    let grey = temp.good("denoise --noise 0.1 grey.tif again.tif");
    assert!(!grey.err.contains("warning"), "{grey:?}");
}

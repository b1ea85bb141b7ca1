//! Folders of pictures, and pairs of them.

use std::fs;
use std::path::Path;

use crate::scratch::TempDir;
use bilevel_cli::file::FileError;
use bilevel_cli::picture::{self, Colour, Depth};

fn names(paths: &[impl AsRef<Path>]) -> Vec<&str> {
    let mut names = Vec::new();
    for path in paths {
        let name = path.as_ref().file_name().and_then(|name| name.to_str());
        names.extend(name);
    }
    names
}

#[test]
fn pictures_are_listed_in_order() {
    let folder = TempDir::new("listed");
    for name in [
        "b.png", "a10.png", "a2.JPG", "B.tif", "c.txt", ".d.png", "e.ppm",
    ] {
        folder.file(name, b"");
    }
    fs::create_dir(folder.path().join("f.png")).unwrap();
    let pictures = picture::list(folder.path()).unwrap();
    assert_eq!(
        names(&pictures),
        ["B.tif", "a10.png", "a2.JPG", "b.png", "e.ppm"]
    );
}

#[test]
fn folders_without_pictures_are_refused() {
    let folder = TempDir::new("without");
    let check = |path: &Path, parts: &[&str]| {
        let error = picture::list(path).unwrap_err();
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
        for part in parts {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        error
    };
    let error = check(folder.path(), &["no files", ".png, .jpg, .jpeg"]);
    assert!(matches!(error, FileError::NoPictures(_, 0, _)));
    folder.file(".hidden.png", b"");
    fs::create_dir(folder.path().join("inner.png")).unwrap();
    check(folder.path(), &["no files"]);
    let text = folder.file("a.txt", b"");
    check(folder.path(), &["1 file, which is not a picture"]);
    folder.file("b.txt", b"");
    folder.file("c.gif", b"");
    check(
        folder.path(),
        &["3 files, none of them a picture", ".npy or .npz"],
    );

    let error = check(
        &folder.path().join("missing"),
        &["there is no file or folder"],
    );
    assert!(matches!(error, FileError::NotFound(_)));
    let below = check(&text.join("inner"), &["is not a folder"]);
    assert!(matches!(below, FileError::NotAFolder { .. }));
    assert_eq!(picture::list(&text).unwrap(), std::slice::from_ref(&text));
}

#[test]
fn pairs_need_partners() {
    let (truth, noisy) = (TempDir::new("pairs-truth"), TempDir::new("pairs-noisy"));
    for name in ["b.png", "a.png", "c.d.png"] {
        truth.file(name, b"");
    }
    for name in ["a.tif", "b.PNG", "c.d.jpg"] {
        noisy.file(name, b"");
    }
    let pairs = picture::pairs(truth.path(), noisy.path()).unwrap();
    let truths: Vec<&Path> = pairs.iter().map(|pair| pair.truth.as_path()).collect();
    let partners: Vec<&Path> = pairs.iter().map(|pair| pair.noisy.as_path()).collect();
    assert_eq!(names(&truths), ["a.png", "b.png", "c.d.png"]);
    assert_eq!(names(&partners), ["a.tif", "b.PNG", "c.d.jpg"]);

    let check = |parts: &[&str]| {
        let error = picture::pairs(truth.path(), noisy.path()).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        error
    };
    let lonely = truth.file("lonely.png", b"");
    check(&["lonely.png has no partner", "pairs-noisy"]);
    fs::remove_file(lonely).unwrap();
    let lonely = noisy.file("lonely.png", b"");
    let error = check(&["lonely.png has no partner", "pairs-truth"]);
    assert!(
        error.to_string().contains(&lonely.display().to_string()),
        "{error}"
    );
    fs::remove_file(lonely).unwrap();
    noisy.file("a.png", b"");
    let error = check(&["a.png", "a.tif", "keep one"]);
    assert!(matches!(error, FileError::Ambiguous { .. }));
}

#[test]
fn pairs_must_fit_each_other() {
    let folder = TempDir::new("fit");
    let write = |name: &str, width: usize, height: usize, planes: usize| {
        let path = folder.path().join(name);
        let plane = vec![0.2; width * height];
        picture::write(
            &path,
            width,
            height,
            &vec![&plane[..]; planes],
            Depth::Eight,
        )
        .unwrap();
        path
    };
    let grey = write("grey.png", 4, 3, 1);
    let colour = write("colour.png", 4, 3, 3);
    let turned = write("turned.png", 3, 4, 1);

    let [pair] = &picture::read_pairs(&grey, &colour, Colour::Luminance, Some(2)).unwrap()[..]
    else {
        panic!("one page each");
    };
    assert_eq!([pair.truth.width, pair.noisy.height], [2, 2]);
    let pair = &picture::read_pairs(&grey, &grey, Colour::Channels, None).unwrap()[0];
    assert_eq!(pair.truth, pair.noisy);
    assert_eq!([pair.truth.width, pair.truth.height], [4, 3]);

    let error = picture::read_pairs(&grey, &colour, Colour::Channels, None).unwrap_err();
    assert!(matches!(error, FileError::Channels { .. }));
    let message = error.to_string();
    for part in ["grey.png has 1 channel,", "colour.png has 3"] {
        assert!(message.contains(part), "{message}");
    }
    // Also when the middles would fit.
    let error = picture::read_pairs(&grey, &turned, Colour::Channels, Some(2)).unwrap_err();
    assert!(matches!(error, FileError::Sizes { .. }));
    let message = error.to_string();
    for part in ["grey.png has 4 x 3", "turned.png has 3 x 4"] {
        assert!(message.contains(part), "{message}");
    }
}

//! Stacks and volumes: arrays with three axes, `.npz` files, NIfTI files, and the tags of TIFF
//! pages. All of them are written as they were read.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::scratch::TempDir;
use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::file::FileError;
use bilevel_cli::picture::{self, Colour, SampleType, TypedPicture};
use tiff::decoder::Decoder;
use tiff::encoder::colortype::{Gray16, RGB16};
use tiff::encoder::{Rational, TiffEncoder};
use tiff::tags::{ResolutionUnit, Tag};

fn read(path: &Path) -> Vec<TypedPicture> {
    picture::read_typed(path, Colour::Channels).expect("a file that can be read")
}

fn refused(path: &Path) -> FileError {
    picture::read_typed(path, Colour::Channels).expect_err("a file that cannot be read")
}

/// An array with the entries 0, 20, 40, ..., which is the content of the `.npz` files.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A NIfTI-1 file of this shape and type of numbers, scaled, in either byte order.
fn nifti(shape: &[i16], code: i16, bits: i16, slope: f32, numbers: &[u8], big: bool) -> Vec<u8> {
    let mut bytes = vec![0; 352];
    let mut put = |at: usize, field: &[u8]| {
        let mut field = field.to_vec();
        if big {
            field.reverse();
        }
        bytes[at..at + field.len()].copy_from_slice(&field);
    };
    put(0, &348_i32.to_le_bytes());
    put(
        40,
        &i16::try_from(shape.len()).expect("few axes").to_le_bytes(),
    );
    for (axis, extent) in shape.iter().enumerate() {
        put(42 + 2 * axis, &extent.to_le_bytes());
    }
    put(70, &code.to_le_bytes());
    put(72, &bits.to_le_bytes());
    put(80, &0.8_f32.to_le_bytes());
    put(108, &352_f32.to_le_bytes());
    put(112, &slope.to_le_bytes());
    put(116, &(-3_f32).to_le_bytes());
    bytes[148..153].copy_from_slice(b"a leg");
    bytes[344..348].copy_from_slice(b"n+1\0");
    bytes.extend(numbers);
    bytes
}

#[test]
fn arrays_with_three_axes_are_stacks() {
    let folder = TempDir::new("array-stacks");
    for name in ["stored.npz", "deflated.npz"] {
        let pages = read(&data(name));
        assert_eq!(pages.len(), 2);
        assert_eq!(pages[1].samples, SampleType::Eight);
        let plane = &pages[1].picture.channels[0];
        let levels: Vec<f64> = plane.iter().map(|value| value * 255.0).collect();
        assert_eq!(levels, [120.0, 140.0, 160.0, 180.0, 200.0, 220.0]);
        assert_eq!((pages[1].picture.width, pages[1].picture.height), (2, 3));
        // values of training data are those of the array
        let plain = picture::read_pages(&data(name), Colour::Luminance).unwrap();
        assert_eq!(plain[0].channels[0], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        for output in ["again.npz", "again.npy"] {
            let output = folder.path().join(output);
            picture::write_typed(&output, &pages).unwrap();
            let again = read(&output);
            assert_eq!(again.len(), 2);
            assert_eq!(again[1].picture, pages[1].picture);
            assert_eq!(again[1].samples, SampleType::Eight);
        }
        let again = read(&folder.path().join("again.npz"));
        assert_eq!(again, pages);
        // a stack of one picture stays a stack
        let output = folder.path().join("one.npy");
        picture::write_typed(&output, &pages[..1]).unwrap();
        assert_eq!(array::read(&output).unwrap().shape, [1, 3, 2]);
    }
}

#[test]
fn arrays_that_are_no_stacks_are_refused() {
    let folder = TempDir::new("no-stacks");
    for (shape, word) in [
        (&[0, 3, 2][..], "none of them empty"),
        (&[2, 0, 2], "none of them empty"),
        (&[2, 3, 2, 1], "two or three axes"),
        (&[7, 5, 3], "looks like one picture in colour"),
        (&[7, 5, 4], "looks like one picture in colour"),
    ] {
        let path = folder.path().join("a.npy");
        let values = vec![0.0; shape.iter().product()];
        array::write(&path, shape, &ArrayValues::Real(values)).unwrap();
        let error = refused(&path);
        assert!(matches!(error, FileError::Shape(..)), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let error = refused(&data("two.npz")).to_string();
    assert!(error.contains("2 arrays: a, b"), "{error}");
    let whole = fs::read(data("deflated.npz")).unwrap();
    for len in 0..whole.len() {
        let path = folder.file("cut.npz", &whole[..len]);
        assert!(matches!(
            refused(&path),
            FileError::Damaged(..) | FileError::Unsupported(..)
        ));
    }
    // one changed byte of the content
    let mut changed = fs::read(data("stored.npz")).unwrap();
    let at = changed.iter().position(|byte| *byte == 220).unwrap();
    changed[at] = 221;
    let error = refused(&folder.file("changed.npz", &changed)).to_string();
    assert!(error.contains("checksum"), "{error}");
    // pages that differ
    let mut pages = read(&data("stored.npz"));
    pages[1].picture = pages[1].picture.clone().crop_centre(2);
    for name in ["differ.npy", "differ.nii"] {
        let path = folder.path().join(name);
        let error = picture::write_typed(&path, &pages).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("page 2 has 2 x 2 pixels, page 1 2 x 3"),
            "{message}"
        );
        assert!(message.contains(".tif file") && !path.exists(), "{message}");
    }
    // formats that are converted elsewhere
    let error = refused(&folder.file("scan.h5", b"\x89HDF\r\n\x1a\n....")).to_string();
    assert!(
        error.contains("h5py") && error.contains("numpy.save"),
        "{error}"
    );
}

#[test]
fn nifti_files_keep_their_header_type_and_scale() {
    let folder = TempDir::new("nifti");
    // 2 x 1 voxels in 2 slices at 1 time, numbers of 16 bits, values 0.5 n - 3
    for big in [false, true] {
        let numbers: Vec<u8> = [-2_i16, 0, 1000, 32767]
            .iter()
            .flat_map(|n| {
                if big {
                    n.to_be_bytes()
                } else {
                    n.to_le_bytes()
                }
            })
            .collect();
        let bytes = nifti(&[2, 1, 2, 1], 4, 16, 0.5, &numbers, big);
        let path = folder.file("a.nii", &bytes);
        let pages = read(&path);
        assert_eq!(pages.len(), 2);
        assert_eq!(pages[0].samples, SampleType::OtherInteger);
        assert_eq!(pages[0].picture.channels, [[-4.0, -3.0]]);
        assert_eq!(pages[1].picture.channels, [[497.0, 16380.5]]);
        for name in ["b.nii", "b.nii.gz"] {
            let output = folder.path().join(name);
            picture::write_typed(&output, &pages).unwrap();
            assert_eq!(read(&output), pages);
        }
        assert_eq!(fs::read(folder.path().join("b.nii")).unwrap(), bytes);
        let list = picture::list(folder.path()).unwrap();
        assert_eq!(list.len(), 3, "{list:?}");
        // values between the levels are rounded, values beyond the range are clamped
        let mut other = pages.clone();
        other[0].picture.channels[0] = vec![-3.4, 1e9];
        picture::write_typed(&path, &other).unwrap();
        assert_eq!(read(&path)[0].picture.channels, [[-3.5, 16380.5]]);
    }
    // numbers of single precision, and integers without a scale
    let numbers: Vec<u8> = [0.25_f32, 7.5]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let path = folder.file("f.nii", &nifti(&[2, 1], 16, 32, 0.0, &numbers, false));
    let pages = read(&path);
    assert_eq!(pages[0].samples, SampleType::Single);
    assert_eq!(pages[0].picture.channels, [[0.25, 7.5]]);
    let path = folder.file("u.nii", &nifti(&[2, 1], 2, 8, 0.0, &[51, 255], false));
    let pages = read(&path);
    assert_eq!(pages[0].samples, SampleType::Eight);
    assert_eq!(pages[0].picture.channels, [[0.2, 1.0]]);
    // other formats become NIfTI, and NIfTI other formats
    let stack = read(&data("stored.npz"));
    let output = folder.path().join("c.nii.gz");
    picture::write_typed(&output, &stack).unwrap();
    let again = read(&output);
    assert_eq!(again[1].picture, stack[1].picture);
    assert_eq!(again[1].samples, SampleType::Eight);
    let tiff = folder.path().join("c.tif");
    picture::write_typed(&tiff, &again).unwrap();
    assert_eq!(read(&tiff)[1].picture, stack[1].picture);
}

#[test]
fn damaged_nifti_files_are_refused() {
    let folder = TempDir::new("bad-nifti");
    let numbers: Vec<u8> = [0.25_f32, f32::NAN]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let good = nifti(&[2, 1, 1], 16, 32, 0.0, &numbers, false);
    for len in (0..good.len()).step_by(7) {
        let error = refused(&folder.file("cut.nii", &good[..len]));
        assert!(matches!(error, FileError::Damaged(..)), "{len}: {error}");
    }
    let with = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        refused(&folder.file("bad.nii", &bytes)).to_string()
    };
    assert!(with(352, &[0; 4]).contains("the value at [1, 0, 0] is NaN"));
    assert!(with(0, &[1, 2, 3, 4]).contains("not that of a NIfTI file"));
    assert!(with(344, b"ni1\0").contains(".hdr and .img"));
    assert!(with(344, b"abcd").contains("magic number"));
    assert!(with(42, &(-2_i16).to_le_bytes()).contains("impossible shape"));
    assert!(with(42, &0_i16.to_le_bytes()).contains("impossible shape"));
    assert!(with(70, &128_i16.to_le_bytes()).contains("NIfTI type 128"));
    assert!(with(108, &f32::NAN.to_le_bytes()).contains("numbers are missing"));
    assert!(with(112, &f32::INFINITY.to_le_bytes()).contains("scaled by inf"));
    // not scaled at all
    assert!(with(112, &f32::NAN.to_le_bytes()).contains("the value at [1, 0, 0] is NaN"));
    let gzip = folder.file("bad.nii.gz", b"\x1f\x8b\x08 no more");
    assert!(matches!(refused(&gzip), FileError::Damaged(..)));
}

#[test]
fn tags_of_tiff_pages_are_kept() {
    let folder = TempDir::new("tags");
    let description = "ImageJ=1.54f\nimages=2\nslices=2\nunit=\u{b5}m\nspacing=0.5\n";
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap();
    for page in 0..2_u16 {
        let mut image = encoder.new_image::<Gray16>(1, 1).unwrap();
        image.x_resolution(Rational { n: 5, d: 2 });
        image.resolution_unit(ResolutionUnit::Centimeter);
        if page == 0 {
            let text = [description.as_bytes(), b"\0"].concat();
            let directory = image.encoder();
            let entry = directory
                .write_entry_bytes(tiff::tags::Type::ASCII, &text)
                .unwrap();
            let mut tags = tiff::Directory::empty();
            tags.extend([(Tag::ImageDescription, entry)]);
            directory.extend_from(&tags);
        }
        image.write_data(&[page]).unwrap();
    }
    let path = folder.file("cells.tif", &bytes.into_inner());
    let pages = read(&path);
    let output = folder.path().join("again.tif");
    picture::write_typed(&output, &pages).unwrap();
    assert_eq!(read(&output), pages);
    let written = fs::read(&output).unwrap();
    let text = description.as_bytes();
    assert!(written.windows(text.len()).any(|part| part == text));
    let mut decoder = Decoder::new(Cursor::new(written)).unwrap();
    decoder.next_image().unwrap();
    let unit = decoder.get_tag_u32(Tag::ResolutionUnit).unwrap();
    assert_eq!(unit, u32::from(ResolutionUnit::Centimeter.to_u16()));
    assert!(decoder.find_tag(Tag::ImageDescription).unwrap().is_none());
    // a result in other formats, and one with other channels, has no such tags
    picture::write_typed(&folder.path().join("a.npy"), &pages).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap();
    let mut image = encoder.new_image::<RGB16>(1, 1).unwrap();
    let text = "red is membranes";
    (image.encoder().write_tag(Tag::ImageDescription, text)).unwrap();
    image.write_data(&[1, 2, 3]).unwrap();
    let path = folder.file("colour.tif", &bytes.into_inner());
    let colours = [Colour::Luminance, Colour::Channels, Colour::Opponent];
    let [grey, channels, whole] = colours.map(|colour| {
        picture::read_typed(&path, colour)
            .unwrap()
            .remove(0)
            .metadata
    });
    assert_ne!(grey, channels);
    assert_eq!(whole, channels);
}

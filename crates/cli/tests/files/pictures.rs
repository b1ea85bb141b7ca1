//! Picture files through the public functions.

use std::fmt::Debug;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::slice;

use crate::scratch::{TempDir, shared};
use bilevel_cli::file::FileError;
use bilevel_cli::picture::{self, Colour, Depth, Picture};
use image::{DynamicImage, ImageBuffer, ImageFormat};
use proptest::prelude::*;
use tiff::encoder::TiffEncoder;
use tiff::encoder::colortype::{Gray32, Gray32Float, Gray64Float, RGB32, RGB32Float};

const SIZE: [u32; 2] = [7, 5];

/// A sample that depends on everything; `top` is white.
fn sample(x: u32, y: u32, channel: u32, top: u32) -> u32 {
    (x * 31 + y * 57 + channel * 101 + top / 3) * (top / 255) % (top + 1)
}

fn image(channels: u32, top: u32) -> DynamicImage {
    fn build<P>(wrap: impl Fn(u32, u32) -> P) -> ImageBuffer<P, Vec<P::Subpixel>>
    where
        P: image::Pixel,
    {
        ImageBuffer::from_fn(SIZE[0], SIZE[1], wrap)
    }
    let s8 = |x, y, c| u8::try_from(sample(x, y, c, 255)).expect("8 bits");
    let s16 = |x, y, c| u16::try_from(sample(x, y, c, 65535)).expect("16 bits");
    match (channels, top) {
        (1, 255) => build(|x, y| image::Luma([s8(x, y, 0)])).into(),
        (2, 255) => build(|x, y| image::LumaA([s8(x, y, 0), 255])).into(),
        (3, 255) => build(|x, y| image::Rgb([0, 1, 2].map(|c| s8(x, y, c)))).into(),
        (4, 255) => build(|x, y| {
            let [r, g, b] = [0, 1, 2].map(|c| s8(x, y, c));
            image::Rgba([r, g, b, 255])
        })
        .into(),
        (1, _) => build(|x, y| image::Luma([s16(x, y, 0)])).into(),
        (2, _) => build(|x, y| image::LumaA([s16(x, y, 0), 65535])).into(),
        (3, _) => build(|x, y| image::Rgb([0, 1, 2].map(|c| s16(x, y, c)))).into(),
        (_, _) => build(|x, y| {
            let [r, g, b] = [0, 1, 2].map(|c| s16(x, y, c));
            image::Rgba([r, g, b, 65535])
        })
        .into(),
    }
}

fn bytes(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image
        .write_to(&mut bytes, format)
        .expect("a file for tests");
    bytes.into_inner()
}

/// What should be read of [`image`].
fn expected(channels: u32, top: u32, colour: Colour) -> Picture {
    let colours: u32 = if channels < 3 { 1 } else { 3 };
    let plane = |value: &dyn Fn(u32, u32) -> f64| {
        let row = |y| (0..SIZE[0]).map(move |x| value(x, y) / f64::from(top));
        (0..SIZE[1]).flat_map(row).collect::<Vec<f64>>()
    };
    let at = |x, y, c| f64::from(sample(x, y, c, top));
    let planes = match (colours, colour) {
        (3, Colour::Luminance) => vec![plane(&|x, y| {
            0.299 * at(x, y, 0) + 0.587 * at(x, y, 1) + 0.114 * at(x, y, 2)
        })],
        _ => (0..colours).map(|c| plane(&|x, y| at(x, y, c))).collect(),
    };
    Picture {
        width: SIZE[0] as usize,
        height: SIZE[1] as usize,
        channels: planes,
    }
}

pub(crate) fn check_refused(path: &Path, parts: &[&str]) -> FileError {
    refused(picture::read(path, Colour::Luminance), path, parts)
}

/// Checks that the error names the file, and contains these parts.
pub(crate) fn refused<T: Debug>(
    made: Result<T, FileError>,
    path: &Path,
    parts: &[&str],
) -> FileError {
    let error = made.expect_err("a file that is refused");
    let (text, path) = (error.to_string(), path.display().to_string());
    for part in parts.iter().chain(&[&path[..]]) {
        assert!(text.contains(part), "{part}: {text}");
    }
    error
}

#[test]
fn lossless_formats_are_read_exactly() {
    let folder = TempDir::new("lossless");
    for (format, channels) in [
        (ImageFormat::Png, &[1, 2, 3, 4][..]),
        (ImageFormat::Tiff, &[1, 3, 4]),
        (ImageFormat::Pnm, &[1, 3]),
    ] {
        for &channels in channels {
            for top in [255, 65535] {
                // `image` writes PNM with 8 bits only.
                if format == ImageFormat::Pnm && top > 255 {
                    continue;
                }
                // The name says nothing: the content does.
                let path = folder.file("a.jpg", &bytes(&image(channels, top), format));
                for colour in [Colour::Luminance, Colour::Channels] {
                    let picture = picture::read(&path, colour).unwrap();
                    let expected = expected(channels, top, colour);
                    assert_eq!(picture, expected, "{format:?} {channels} {top} {colour:?}");
                }
            }
        }
    }
}

#[test]
fn transparent_pixels_are_refused() {
    let folder = TempDir::new("transparent");
    let almost = ImageBuffer::from_fn(3, 2, |x, y| {
        image::Rgba([9_u8, 9, 9, if (x, y) == (2, 1) { 254 } else { 255 }])
    });
    for format in [ImageFormat::Png, ImageFormat::Tiff] {
        let path = folder.file("a.png", &bytes(&almost.clone().into(), format));
        let error = check_refused(&path, &["transparent", "flatten"]);
        assert!(matches!(error, FileError::Transparent { .. }));
    }
    let grey = ImageBuffer::from_pixel(3, 2, image::LumaA([9_u16, 0]));
    let path = folder.file("a.png", &bytes(&grey.into(), ImageFormat::Png));
    check_refused(&path, &["transparent", "alpha channel"]);
}

/// A file with several pictures is refused where it is not a TIFF file.
#[test]
fn animations_and_series_are_refused() {
    let folder = TempDir::new("series");
    let png = picture::encode_png(1, 1, &[&[0.5]], Depth::Eight);
    // The chunk that makes a PNG file an animation goes after the header.
    let mut chunk = b"acTL\x00\x00\x00\x02\x00\x00\x00\x00".to_vec();
    let sum = crc(&chunk);
    chunk.splice(0..0, [0, 0, 0, 8]);
    chunk.extend(sum.to_be_bytes());
    let animated = [&png[..33], &chunk, &png[33..]].concat();
    check_refused(&folder.file("a.png", &animated), &["animation"]);

    let one: &[u8] = b"P5 2 1 255\n\x00\x33";
    let path = folder.file("two.pgm", &[one, one].concat());
    check_refused(&path, &["more data follow the first picture"]);
    let path = folder.file("one.pgm", &[one, b"\n"].concat());
    assert!(picture::read(&path, Colour::Luminance).is_ok());
}

#[test]
fn jpeg_is_read_nearly() {
    let folder = TempDir::new("jpeg");
    for channels in [1, 3] {
        let flat = match channels {
            1 => DynamicImage::from(ImageBuffer::from_pixel(16, 16, image::Luma([51_u8]))),
            _ => ImageBuffer::from_pixel(16, 16, image::Rgb([51_u8; 3])).into(),
        };
        let path = folder.file("a.png", &bytes(&flat, ImageFormat::Jpeg));
        let picture = picture::read(&path, Colour::Channels).unwrap();
        assert_eq!(picture.channels.len(), channels);
        for value in picture.channels.concat() {
            assert!((value - 0.2).abs() < 0.01, "{value}");
        }
    }
}

#[test]
fn pnm_by_hand() {
    let folder = TempDir::new("pnm");
    let check = |content: &[u8], expected: &[f64]| {
        let path = folder.file("a.pgm", content);
        let picture = picture::read(&path, Colour::Luminance).unwrap();
        assert_eq!(picture.channels, [expected]);
    };
    check(b"P5 2 1 255\n\x00\x33", &[0.0, 0.2]);
    check(b"P2\n# words\n2 1 255\n0 51\n", &[0.0, 0.2]);
    check(b"P5 2 1 65535\n\x00\x00\x33\x33", &[0.0, 0.2]);
    check(b"P5 2 1 5\n\x00\x01", &[0.0, 0.2]);
    check(b"P1 2 1\n0 1\n", &[1.0, 0.0]);
}

#[test]
fn cut_files_are_damaged_or_complete() {
    let folder = TempDir::new("cut");
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Tiff,
        ImageFormat::Pnm,
    ] {
        let whole = bytes(&image(3, 255), format);
        let path = folder.file("a.png", &whole);
        let complete = picture::read(&path, Colour::Channels).unwrap();
        let mut refused = 0;
        for len in 0..whole.len() {
            let path = folder.file("a.png", &whole[..len]);
            match picture::read(&path, Colour::Channels) {
                Ok(picture) => assert_eq!(picture, complete, "{format:?} {len}"),
                Err(_) => refused += 1,
            }
        }
        // Only what comes after the pixels may be missing: the last chunks of PNG, the resolution
        // of TIFF.
        assert!(refused + 80 >= whole.len(), "{format:?} {refused}");
        let path = folder.file("half.png", &whole[..whole.len() / 2]);
        let error = check_refused(&path, &["damaged"]);
        assert!(matches!(error, FileError::Damaged { .. }));
    }
}

#[test]
fn other_files_are_refused() {
    let folder = TempDir::new("other");
    let path = folder.file("letter.png", b"Dear reader, this is not a picture.");
    let error = check_refused(&path, &["not a PNG, JPEG, TIFF or PNM"]);
    assert!(matches!(error, FileError::Unsupported { .. }));
    check_refused(&folder.file("gif.png", b"GIF89a..........."), &["Gif"]);
    check_refused(&folder.file("empty.png", b""), &["empty"]);
    check_refused(&folder.file("none.pgm", b"P5 0 5 255\n"), &["damaged"]);
    let error = check_refused(
        &folder.path().join("missing.png"),
        &["there is no file or folder"],
    );
    assert!(matches!(error, FileError::NotFound(_)));
    let error = picture::read(folder.path(), Colour::Channels).unwrap_err();
    assert!(matches!(error, FileError::IsAFolder(_)));
}

#[test]
fn absurd_sizes_are_refused_at_once() {
    let folder = TempDir::new("absurd");
    for header in [
        "P5 65000 65000 255\n",
        "P5 4000000000 4000000000 255\n",
        "P6 12000 12000 65535\n",
    ] {
        let error = picture::read(&folder.file("a.pgm", header.as_bytes()), Colour::Luminance);
        let error = error.unwrap_err();
        let is_size = matches!(
            error,
            FileError::TooLarge { .. } | FileError::Unsupported { .. }
        );
        assert!(is_size && error.to_string().contains("large"), "{error}");
    }
    // The width in the header of a PNG, and its checksum.
    let mut png = picture::encode_png(1, 1, &[&[0.5]], Depth::Eight);
    png[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    let sum = crc(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let error = check_refused(&folder.file("a.png", &png), &["too large"]);
    assert!(matches!(error, FileError::TooLarge { .. }));
}

/// The checksum of PNG chunks.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0xEDB8_8320,
        })
    })
}

#[test]
fn written_files_are_read_back() {
    let folder = TempDir::new("written");
    let planes = [[0.0, 1.0 / 3.0], [0.5, 0.7], [0.9, 1.0]];
    let colour: Vec<&[f64]> = planes.iter().map(|plane| &plane[..]).collect();
    for (name, depth, levels) in [
        ("a.png", Depth::Eight, 255.0),
        ("a.PNG", Depth::Sixteen, 65535.0),
        ("a.tif", Depth::Eight, 65535.0),
    ] {
        let path = folder.path().join(name);
        picture::write(&path, 1, 2, &colour, depth).unwrap();
        let picture = picture::read(&path, Colour::Channels).unwrap();
        assert_eq!([picture.width, picture.height], [1, 2]);
        assert_eq!(picture.channels.len(), 3);
        for (read, written) in picture.channels.concat().iter().zip(planes.concat()) {
            assert!((read - written).abs() <= 0.5000001 / levels, "{name}");
        }
    }
    // Grey TIFF files keep what is outside of [0, 1].
    let path = folder.path().join("grey.tiff");
    let values = [-0.25, 1.0 / 3.0, 7.5];
    picture::write(&path, 3, 1, &[&values], Depth::Eight).unwrap();
    let picture = picture::read(&path, Colour::Luminance).unwrap();
    let single = [-0.25, f64::from(1.0_f32 / 3.0), 7.5];
    assert_eq!(picture.channels, [single]);
    // One pixel, and the planes of a picture.
    let path = folder.path().join("one.png");
    picture::write(&path, 1, 1, &[&[1.0]], Depth::Sixteen).unwrap();
    let one = picture::read(&path, Colour::Channels).unwrap();
    assert_eq!(one.channels, [[1.0]]);
    assert_eq!(one.clone().crop_centre(256), one);
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = TempDir::new("unwritten");
    let file = folder.file("file", b"");
    let write = |path: &Path, value| picture::write(path, 1, 1, &[&[value]], Depth::Eight);
    for name in ["a.jpg", "a", "png"] {
        let error = write(&folder.path().join(name), 0.5).unwrap_err();
        assert!(matches!(error, FileError::Extension { .. }));
        assert!(
            error.to_string().contains(".png, .tif, .tiff, .npy"),
            "{error}"
        );
    }
    // Nobody can write below a file, not even root.
    let error = write(&file.join("a.png"), 0.5).unwrap_err();
    assert!(matches!(error, FileError::Write { .. }));
    assert!(error.to_string().contains("a.png"), "{error}");
    for (name, value) in [
        ("a.png", f64::NAN),
        ("a.tif", f64::INFINITY),
        ("a.tif", 1e300),
    ] {
        let error = write(&folder.path().join(name), value).unwrap_err();
        assert!(error.to_string().contains("[0, 0]"), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn floats_that_are_not_finite_are_refused() {
    let folder = TempDir::new("floats");
    type Encoder<'a> = TiffEncoder<&'a mut Cursor<Vec<u8>>>;
    let file = |write: &dyn Fn(&mut Encoder<'_>)| {
        let mut bytes = Cursor::new(Vec::new());
        write(&mut TiffEncoder::new(&mut bytes).unwrap());
        folder.file("a.tif", &bytes.into_inner())
    };
    let path = file(&|t| {
        t.write_image::<Gray32Float>(2, 2, &[0.0, 1.0, 0.5, f32::NAN])
            .unwrap();
    });
    check_refused(&path, &["[1, 1]", "NaN"]);
    let path = file(&|t| {
        t.write_image::<RGB32Float>(1, 1, &[0.0, f32::INFINITY, 0.0])
            .unwrap();
    });
    let error = picture::read(&path, Colour::Channels).unwrap_err();
    assert!(error.to_string().contains("[0, 0, 1] is inf"), "{error}");
    let path = file(&|t| t.write_image::<Gray64Float>(2, 1, &[0.1, -3.0]).unwrap());
    let picture = picture::read(&path, Colour::Channels).unwrap();
    assert_eq!(picture.channels, [[0.1, -3.0]]);
    let path = file(&|t| t.write_image::<RGB32Float>(1, 1, &[0.0, 0.5, 2.0]).unwrap());
    let picture = picture::read(&path, Colour::Channels).unwrap();
    assert_eq!(picture.channels, [[0.0], [0.5], [2.0]]);
    // Compressed, one pixel takes more bytes than it has.
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes)
        .unwrap()
        .with_compression(tiff::encoder::Compression::Deflate(Default::default()));
    encoder.write_image::<Gray32Float>(1, 1, &[0.75]).unwrap();
    let path = folder.file("a.tif", &bytes.into_inner());
    let picture = picture::read(&path, Colour::Channels).unwrap();
    assert_eq!(picture.channels, [[0.75]]);
    let path = file(&|t| t.write_image::<Gray32>(1, 1, &[7]).unwrap());
    check_refused(&path, &["integers", "convert it to"]);
    let path = file(&|t| t.write_image::<RGB32>(1, 1, &[1, 2, 3]).unwrap());
    check_refused(&path, &["integers", "convert it to"]);
}

/// `tifffile` 2026.3.3 wrote the file from `numpy.zeros((2, 3, 4), "u2")`, with
/// `photometric="minisblack"` and `planarconfig="contig"`.
#[test]
fn channels_without_colours_are_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bands.tif");
    check_refused(&path, &["4 channels without colours", "a page for each"]);
}

#[test]
fn kodak_pictures_are_read_and_cropped() {
    let Some(folder) = shared("kodak") else {
        return;
    };
    let paths = picture::list(&folder).unwrap();
    assert_eq!(paths.len(), 25);
    for path in paths {
        let picture = picture::read(&path, Colour::Luminance).unwrap();
        assert!(picture.width.min(picture.height) >= 256);
        let crop = picture.crop_centre(256);
        assert_eq!([crop.width, crop.height], [256, 256]);
        assert_eq!(crop.channels[0].len(), 256 * 256);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sixteen_bits_are_half_a_level_away(
        width in 1_usize..9,
        rows in prop::collection::vec(prop::collection::vec(0.0..=1.0, 24), 1..9),
    ) {
        let folder = TempDir::new("sixteen");
        let path = folder.path().join("a.png");
        let height = rows.len();
        for channels in [1, 3] {
            let plane = |c: usize| rows.iter().flat_map(|row| row[8 * c..][..width].to_vec()).collect();
            let planes: Vec<Vec<f64>> = (0..channels).map(plane).collect();
            let written = Picture { width, height, channels: planes };
            picture::write_pages(&path, slice::from_ref(&written), Depth::Sixteen).unwrap();
            let read = picture::read(&path, Colour::Channels).unwrap();
            prop_assert_eq!([read.width, read.height], [width, height]);
            for (read, written) in read.channels.concat().iter().zip(written.channels.concat()) {
                prop_assert!((read - written).abs() <= 1.0 / 131070.0 + 1e-15);
            }
        }
    }

    #[test]
    fn broken_files_do_not_bring_the_program_down(
        format in 0_usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let folder = TempDir::new("broken");
        let formats = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff, ImageFormat::Pnm];
        let mut content = bytes(&image(3, 255), formats[format]);
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        let path = folder.file("a.png", &content);
        if let Ok(picture) = picture::read(&path, Colour::Channels) {
            let len = picture.width * picture.height;
            prop_assert!(picture.channels.iter().all(|plane| plane.len() == len));
        }
    }
}

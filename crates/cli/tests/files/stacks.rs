//! TIFF files with several pages.

use std::io::Cursor;

use crate::pictures::check_refused;
use crate::scratch::TempDir;
use bilevel_cli::file::FileError;
use bilevel_cli::picture::{self, Colour, Depth};
use tiff::encoder::TiffEncoder;
use tiff::encoder::colortype::{Gray16, Gray32Float, RGB8};
use tiff::tags::Tag;

/// The bytes of a TIFF file that `write` has written.
fn stack(write: impl Fn(&mut TiffEncoder<&mut Cursor<Vec<u8>>>)) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut TiffEncoder::new(&mut bytes).expect("a file for tests"));
    bytes.into_inner()
}

#[test]
fn every_page_of_a_stack_is_a_picture() {
    let folder = TempDir::new("stack");
    let content = stack(|encoder| {
        encoder.write_image::<Gray16>(2, 1, &[0, 65535]).unwrap();
        encoder.write_image::<Gray32Float>(1, 1, &[7.5]).unwrap();
        encoder.write_image::<RGB8>(1, 1, &[0, 51, 255]).unwrap();
    });
    let path = folder.file("cells.tif", &content);
    let pages = picture::read_pages(&path, Colour::Channels).unwrap();
    let channels: Vec<_> = pages.iter().map(|page| page.channels.clone()).collect();
    assert_eq!(channels[0], [[0.0, 1.0]]);
    assert_eq!(channels[1], [[7.5]]);
    assert_eq!(channels[2], [[0.0], [0.2], [1.0]]);
    assert_eq!(pages.len(), 3);
    let error = check_refused(&path, &["has 3 pages", "one picture is needed"]);
    assert!(matches!(error, FileError::Pages(_, 3)));

    // What is written is read back, and PNG files have no pages.
    let again = folder.path().join("again.tiff");
    picture::write_pages(&again, &pages, Depth::Eight).unwrap();
    let read = picture::read_pages(&again, Colour::Channels).unwrap();
    assert_eq!(read, pages);
    let png = folder.path().join("a.png");
    let error = picture::write_pages(&png, &pages, Depth::Eight).unwrap_err();
    assert!(
        error.to_string().contains("cannot write 3 pages"),
        "{error}"
    );
    assert!(!png.exists());

    // Positions of 64 bits, and a page that cannot be used.
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new_big(&mut bytes).unwrap();
    encoder.write_image::<Gray16>(1, 1, &[13107]).unwrap();
    encoder
        .write_image::<Gray32Float>(2, 1, &[1.0, f32::NAN])
        .unwrap();
    let path = folder.file("big.tif", &bytes.into_inner());
    let error = picture::read_pages(&path, Colour::Channels).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("big.tif[2]: the value at [0, 1]"),
        "{message}"
    );
}

#[test]
fn pages_that_are_no_pictures_are_left_out_or_refused() {
    let folder = TempDir::new("kinds-of-pages");
    let with_kind = |kind: u32| {
        let content = stack(|encoder| {
            encoder.write_image::<Gray16>(2, 2, &[0, 1, 2, 3]).unwrap();
            let mut second = encoder.new_image::<Gray16>(1, 1).unwrap();
            second
                .encoder()
                .write_tag(Tag::NewSubfileType, kind)
                .unwrap();
            second.write_data(&[4]).unwrap();
            encoder.write_image::<Gray16>(1, 1, &[5]).unwrap();
        });
        picture::read_pages(&folder.file("a.tif", &content), Colour::Luminance)
    };
    assert_eq!(with_kind(0).unwrap().len(), 3);
    let pages = with_kind(1).unwrap();
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[1].channels, [[5.0 / 65535.0]]);
    assert!(matches!(with_kind(4), Err(FileError::Transparent(_))));

    // Large stacks of ImageJ, and of tifffile on request, have one page only.
    let described = |images: usize, is_imagej: bool| {
        let content = stack(|encoder| {
            let mut image = encoder.new_image::<Gray16>(1, 1).unwrap();
            let text = match is_imagej {
                true => format!("ImageJ=1.54f\nimages={images}\nslices={images}\n"),
                false => format!("{{\"shape\": [{images}, 1, 1], \"truncated\": true}}"),
            };
            image
                .encoder()
                .write_tag(Tag::ImageDescription, &text[..])
                .unwrap();
            image.write_data(&[4]).unwrap();
        });
        picture::read_pages(&folder.file("j.tif", &content), Colour::Luminance)
    };
    for is_imagej in [true, false] {
        assert_eq!(described(1, is_imagej).unwrap().len(), 1);
        let message = described(7, is_imagej).unwrap_err().to_string();
        assert!(message.contains("announces 7 pictures"), "{message}");
    }
}

//! Pictures that keep the type of their samples and their alpha channel.

use std::io::Cursor;

use crate::scratch::TempDir;
use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::file::FileError;
use bilevel_cli::picture::{self, Colour, Metadata, Picture, SampleType, TypedPicture};
use tiff::ColorType;
use tiff::decoder::Decoder;

const TYPES: [SampleType; 4] = [
    SampleType::Eight,
    SampleType::Sixteen,
    SampleType::Single,
    SampleType::Double,
];

/// A picture of 3 x 2 pixels whose values are levels of all types.
fn typed(samples: SampleType, num_channels: usize, has_alpha: bool) -> TypedPicture {
    let plane = |c: usize| (0..6).map(|i| ((i + c) % 2) as f64).collect::<Vec<f64>>();
    TypedPicture {
        picture: Picture {
            width: 3,
            height: 2,
            channels: (0..num_channels).map(plane).collect(),
        },
        alpha: has_alpha.then(|| vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        samples,
        metadata: Metadata::None,
    }
}

#[test]
fn pictures_are_read_as_they_were_written() {
    let folder = TempDir::new("typed");
    let read = |name: &str, page: &TypedPicture| {
        let path = folder.path().join(name);
        picture::write_typed(&path, std::slice::from_ref(page)).unwrap();
        let mut pages = picture::read_typed(&path, Colour::Channels).unwrap();
        assert_eq!(pages.len(), 1);
        TypedPicture {
            metadata: Metadata::None,
            ..pages.remove(0)
        }
    };
    for samples in TYPES {
        for num_channels in [1, 3] {
            for has_alpha in [false, true] {
                let page = typed(samples, num_channels, has_alpha);
                let is_float = samples.white().is_none();
                let png = read("a.png", &page);
                let expected = TypedPicture {
                    samples: if is_float {
                        SampleType::Sixteen
                    } else {
                        samples
                    },
                    ..page.clone()
                };
                assert_eq!(png, expected);
                let is_readable = samples != SampleType::Double || page == typed(samples, 1, false);
                if is_readable {
                    let tiff = read("a.tif", &page);
                    assert_eq!((tiff.samples, &tiff.alpha), (samples, &page.alpha));
                    let grey = &page.picture.channels[0];
                    assert_eq!(&tiff.picture.channels[0], grey);
                    assert!(has_alpha || tiff == page);
                }
                if page == typed(samples, 1, false) {
                    assert_eq!(read("a.npy", &page), page);
                }
            }
        }
    }
}

#[test]
fn alpha_is_declared_in_tiff_files() {
    let folder = TempDir::new("typed-alpha");
    let path = folder.path().join("a.tif");
    picture::write_typed(&path, &[typed(SampleType::Eight, 3, true)]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut decoder = Decoder::new(Cursor::new(bytes)).unwrap();
    assert_eq!(decoder.colortype().unwrap(), ColorType::RGBA(8));
    // other readers still refuse transparent pixels
    let error = picture::read_pages(&path, Colour::Channels).unwrap_err();
    assert!(matches!(error, FileError::Transparent(_)), "{error}");
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let folder = TempDir::new("typed-refused");
    let refusal = |name: &str, pages: &[TypedPicture]| {
        let path = folder.path().join(name);
        let error = picture::write_typed(&path, pages).unwrap_err();
        assert!(!path.exists(), "{name}");
        error.to_string()
    };
    let grey = typed(SampleType::Eight, 1, false);
    let rgb = typed(SampleType::Eight, 3, false);
    let two = [grey.clone(), grey.clone()];
    assert!(refusal("a.npy", std::slice::from_ref(&rgb)).contains("hold grey pictures"));
    assert!(refusal("a.nii", &[rgb]).contains("hold grey pictures"));
    assert!(refusal("a.png", &two).contains("name a .tif file"));
    assert!(refusal("a.jpg", std::slice::from_ref(&grey)).contains(".png, .tif"));
    let mut huge = typed(SampleType::Single, 1, false);
    huge.picture.channels[0][4] = 1e300;
    assert!(refusal("a.tif", &[huge]).contains("the value at [1, 1]"));
    let mut infinite = grey;
    infinite.picture.channels[0][0] = f64::INFINITY;
    assert!(refusal("a.png", &[infinite]).contains("the value at [0, 0] is inf"));
}

#[test]
fn arrays_have_two_axes_or_three() {
    let folder = TempDir::new("typed-arrays");
    for shape in [&[6][..], &[2, 3, 1, 1], &[0, 3]] {
        let path = folder.path().join("a.npy");
        let values = vec![0.0; shape.iter().product()];
        array::write(&path, shape, &ArrayValues::Real(values)).unwrap();
        let error = picture::read_typed(&path, Colour::Channels).unwrap_err();
        assert!(matches!(error, FileError::Shape(..)), "{error}");
    }
}

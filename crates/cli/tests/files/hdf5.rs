//! HDF5 and BART files that h5py and NumPy wrote (`tests/data/hdf5.py`), through the public
//! functions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scratch::TempDir;
use bilevel_cli::array::{self, Array, ArrayValues};
use bilevel_cli::file::FileError;
use bilevel_cli::kspace;
use bilevel_cli::picture::{self, Colour};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The entries of the recipe: real numbers.
fn real(len: usize) -> Vec<f64> {
    (0..len).map(|i| (i as f64 - 7.0) / 2.0).collect()
}

/// The entries of the recipe: complex numbers.
fn complex(len: usize) -> Vec<f64> {
    (0..len)
        .flat_map(|i| [(i as f64 - 7.0) / 2.0, i as f64 / -4.0])
        .collect()
}

fn message(path: &Path) -> String {
    array::read(path).expect_err("a damaged file").to_string()
}

#[test]
fn all_kinds_of_storage_are_read() {
    let read = |name: String| array::read(&data(&name)).unwrap();
    let check = |name: String, shape: &[usize], values: ArrayValues| {
        let expected = Array {
            shape: shape.to_vec(),
            values,
        };
        assert_eq!(read(name.clone()), expected, "{name}");
    };
    let integers = |len: usize| ArrayValues::Real((0..len).map(|i| i as f64).collect());
    for file in ["earliest.h5", "latest.h5"] {
        for name in ["inner/group/contiguous", "/inner/group/chunked"] {
            check(
                format!("{file}::{name}"),
                &[5, 7],
                ArrayValues::Real(real(35)),
            );
        }
        let packed = ArrayValues::Complex(complex(105));
        check(format!("{file}::inner/group/packed"), &[3, 5, 7], packed);
        check(
            format!("{file}::one_chunk"),
            &[4, 5],
            ArrayValues::Real(real(20)),
        );
        check(
            format!("{file}::big_endian"),
            &[3, 3],
            ArrayValues::Real(real(9)),
        );
        check(format!("{file}::sixteen_bits"), &[2, 3], integers(6));
        check(format!("{file}::signed"), &[2, 3], integers(6));
    }
    check(
        "many.h5::many/029".into(),
        &[1, 2],
        ArrayValues::Real(real(2)),
    );
    check("many.h5::small_chunks".into(), &[12, 15], integers(180));
    check("pages.h5".into(), &[40, 45], integers(1800));
    let repeated = (0..2500).map(|i| f64::from(i % 700 / 3 - 7) / 2.0);
    let repeated = ArrayValues::Real(repeated.collect());
    check("lzf.h5::repeated".into(), &[50, 50], repeated);
    let packed = ArrayValues::Complex(complex(1200));
    check("lzf.h5::packed".into(), &[30, 40], packed);
    check(
        "lzf.h5::as_it_was".into(),
        &[2, 2],
        ArrayValues::Real(real(4)),
    );
}

#[test]
fn fastmri_files_are_stacks_of_pictures_and_measured_frequencies() {
    let pages = picture::read_pages(&data("fastmri.h5"), Colour::Luminance).unwrap();
    assert_eq!(pages.len(), 2);
    assert_eq!((pages[0].width, pages[0].height), (4, 4));
    let values: Vec<f64> = pages
        .into_iter()
        .flat_map(|page| page.channels[0].clone())
        .collect();
    assert_eq!(values, real(32));
    let esc = data("fastmri.h5::reconstruction_esc");
    let pages = picture::read_pages(&esc, Colour::Luminance).unwrap();
    assert_eq!(pages[1].channels[0][15].to_bits(), 13.0_f64.to_bits());
    let measured = kspace::read(&data("fastmri.h5")).unwrap();
    assert_eq!(measured.shape, [2, 3, 4, 5]);
    assert_eq!(measured.values, complex(120));
    assert_eq!(measured.plane(1, 2), &complex(120)[200..]);
}

#[test]
fn arrays_of_frequencies_may_leave_out_coils_and_slices() {
    let dir = TempDir::new("frequencies");
    let path = dir.path().join("a.npy");
    let shape_of = |shape: &[usize]| {
        let len = shape.iter().product();
        array::write(&path, shape, &ArrayValues::Complex(complex(len))).unwrap();
        kspace::read(&path).map(|measured| measured.shape)
    };
    assert_eq!(shape_of(&[2, 3]).unwrap(), [1, 1, 2, 3]);
    assert_eq!(shape_of(&[4, 2, 3]).unwrap(), [4, 1, 2, 3]);
    assert_eq!(shape_of(&[4, 5, 2, 3]).unwrap(), [4, 5, 2, 3]);
    for bad in [&[6][..], &[1, 1, 1, 2, 3], &[0, 3], &[2, 0, 2, 3]] {
        assert!(
            matches!(shape_of(bad), Err(FileError::Shape(..))),
            "{bad:?}"
        );
    }
    array::write(&path, &[1, 2], &ArrayValues::Real(real(2))).unwrap();
    let error = kspace::read(&path).unwrap_err().to_string();
    assert!(error.contains("real numbers"), "{error}");
}

#[test]
fn axes_of_bart_are_slices_coils_rows_and_columns() {
    let measured = kspace::read(&data("bart.cfl")).unwrap();
    assert_eq!(measured, kspace::read(&data("bart.hdr")).unwrap());
    assert_eq!(measured.shape, [4, 3, 2, 5]);
    // NumPy wrote the array (slices, coils, phase, read).
    let stored = complex(120);
    for slice in 0..4 {
        for coil in 0..3 {
            let plane = measured.plane(slice, coil);
            for row in 0..2 {
                for column in 0..5 {
                    let from = 2 * (((slice * 3 + coil) * 5 + column) * 2 + row);
                    let to = 2 * (row * 5 + column);
                    assert_eq!(plane[to..to + 2], stored[from..from + 2]);
                }
            }
        }
    }
}

#[test]
fn bad_files_of_bart_are_refused() {
    let dir = TempDir::new("bart");
    let bytes = fs::read(data("bart.cfl")).unwrap();
    let with = |header: &str, bytes: &[u8]| {
        dir.file("a.hdr", header.as_bytes());
        kspace::read(&dir.file("a.cfl", bytes))
    };
    assert_eq!(
        with("# Dimensions\n2 60\n", &bytes).unwrap().shape,
        [1, 1, 2, 60]
    );
    // A plane in the second and third axis.
    assert_eq!(
        with("# Dimensions\n1 4 5 6", &bytes).unwrap().shape,
        [1, 6, 4, 5]
    );
    for header in [
        "# Dimensions\n2 3 4 5\n",
        "# Dimensions\n4 3 1 1 10",
        "# Dimensions\n0 3",
    ] {
        assert!(
            matches!(with(header, &bytes), Err(FileError::Shape(..))),
            "{header}"
        );
    }
    let huge = "# Dimensions\n4294967296 4294967296 16\n";
    for header in ["", "2 60", "# Dimensions\n", "# Dimensions\n2 x\n", huge] {
        assert!(
            matches!(with(header, &bytes), Err(FileError::Damaged(..))),
            "{header}"
        );
    }
    let short = with("# Dimensions\n2 60\n", &bytes[..959]);
    assert!(matches!(short, Err(FileError::Damaged(..))));
    fs::remove_file(dir.path().join("a.hdr")).unwrap();
    let missing = kspace::read(&dir.path().join("a.cfl")).unwrap_err();
    assert!(matches!(missing, FileError::NotFound(path) if path.ends_with("a.hdr")));
}

#[test]
fn messages_say_which_datasets_there_are() {
    let earliest = message(&data("earliest.h5"));
    for part in [
        "6 datasets of real numbers, big_endian, inner/group/chunked,",
        "after the path, as in scan.h5::group/name",
    ] {
        assert!(earliest.contains(part), "{earliest}");
    }
    let wrong = message(&data("fastmri.h5::rss"));
    let part = "no dataset rss, but ismrmrd_header, kspace, reconstruction_esc";
    assert!(wrong.contains(part), "{wrong}");
    for (name, part) in [
        ("sparse", "3 of 4 chunks were never written"),
        ("unwritten", "never written"),
        ("scaled", "compressed by filter 6)"),
        ("growing", "can grow"),
        ("texts", "not numbers"),
        ("half", "neither single nor double"),
        ("truth", "not numbers"),
    ] {
        let message = message(&data(&format!("refused.h5::{name}")));
        assert!(message.contains(part), "{name}: {message}");
    }
    let empty = picture::read_pages(&data("refused.h5::empty"), Colour::Luminance);
    assert!(matches!(empty, Err(FileError::Shape(..))));
    let error = kspace::read(&data("pages.h5")).unwrap_err().to_string();
    assert!(error.contains("no dataset of complex numbers"), "{error}");
    let error = kspace::read(&data("refused.h5")).unwrap_err().to_string();
    assert!(
        error.contains("; scaled: it is compressed by filter 6"),
        "{error}"
    );
}

#[test]
fn truncated_and_changed_files_are_errors_at_worst() {
    let dir = TempDir::new("hostile");
    for name in [
        "fastmri.h5",
        "earliest.h5",
        "latest.h5",
        "lzf.h5",
        "refused.h5",
    ] {
        let bytes = fs::read(data(name)).unwrap();
        for len in (0..bytes.len()).step_by(211) {
            let path = dir.file("a.h5", &bytes[..len]);
            assert!(array::read(&path).is_err(), "{name}: {len} bytes");
        }
        // With a stride of one, every byte is replaced.
        for position in (0..bytes.len()).step_by(1 + bytes.len() / 150) {
            let mut changed = bytes.clone();
            changed[position] = [0, 0xFF, bytes[position] ^ 1][position % 3];
            let path = dir.file("a.h5", &changed);
            let _ = kspace::read(&path);
            let _ = array::read(&path);
            for dataset in [
                "inner/group/packed",
                "inner/group/chunked",
                "one_chunk",
                "packed",
            ] {
                let _ = array::read(&path.with_file_name(format!("a.h5::{dataset}")));
            }
        }
    }
}

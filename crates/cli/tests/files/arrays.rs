//! Array files through the public functions.

use std::path::{Path, PathBuf};

use crate::pictures::refused;
use crate::scratch::{TempDir, shared};
use bilevel_cli::array::{self, Array, ArrayValues, Signals};
use bilevel_cli::file::FileError;
use proptest::prelude::*;

/// A file with this header and these bytes after it.
fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let len = u16::try_from(header.len())
        .expect("a short header")
        .to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), data].concat()
}

/// How the first version of a file calls a type, and its bytes.
trait Entry: Copy {
    const DESCR: &'static str;
    fn bytes(self) -> Vec<u8>;
}

macro_rules! entries {
    ($($kind:ty => $descr:literal),* $(,)?) => { $(
        impl Entry for $kind {
            const DESCR: &'static str = $descr;
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )* };
}

entries! {
    f64 => "'<f8'", f32 => "'<f4'", i8 => "'|i1'", i16 => "'<i2'", i32 => "'<i4'", i64 => "'<i8'",
    u8 => "'|u1'", u16 => "'<u2'", u32 => "'<u4'", u64 => "'<u8'",
}

impl Entry for bool {
    const DESCR: &'static str = "'|b1'";
    fn bytes(self) -> Vec<u8> {
        vec![u8::from(self)]
    }
}

impl Entry for [f64; 2] {
    const DESCR: &'static str = "'<c16'";
    fn bytes(self) -> Vec<u8> {
        self.map(f64::to_le_bytes).concat()
    }
}

impl Entry for [f32; 2] {
    const DESCR: &'static str = "'<c8'";
    fn bytes(self) -> Vec<u8> {
        self.map(f32::to_le_bytes).concat()
    }
}

#[derive(Clone, Copy)]
enum Order {
    C,
    Fortran,
}

/// A file with these entries.
fn made<T: Entry>(shape: &[u64], order: Order, values: Vec<T>) -> Vec<u8> {
    let data: Vec<u8> = values.into_iter().flat_map(T::bytes).collect();
    let axes: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let fortran = match order {
        Order::C => "False",
        Order::Fortran => "True",
    };
    npy(T::DESCR, fortran, &format!("({axes})"), &data)
}

fn check_real(folder: &TempDir, content: &[u8], expected: &[f64]) {
    let array = array::read(&folder.file("a.npy", content)).expect("a healthy file");
    assert_eq!(array.values, ArrayValues::Real(expected.to_vec()));
}

fn check_refused(path: &Path, parts: &[&str]) -> FileError {
    refused(array::read(path), path, parts)
}

#[test]
fn all_numbers_are_read() {
    let folder = TempDir::new("numbers");
    let check = |content: Vec<u8>| check_real(&folder, &content, &[1.0, 0.0, 100.0]);
    check(made(&[3], Order::C, vec![1.0_f64, 0.0, 100.0]));
    check(made(&[3], Order::C, vec![1.0_f32, 0.0, 100.0]));
    check(made(&[3], Order::C, vec![1_i8, 0, 100]));
    check(made(&[3], Order::C, vec![1_i16, 0, 100]));
    check(made(&[3], Order::C, vec![1_i32, 0, 100]));
    check(made(&[3], Order::C, vec![1_i64, 0, 100]));
    check(made(&[3], Order::C, vec![1_u8, 0, 100]));
    check(made(&[3], Order::C, vec![1_u16, 0, 100]));
    check(made(&[3], Order::C, vec![1_u32, 0, 100]));
    check(made(&[3], Order::C, vec![1_u64, 0, 100]));
    let truth = made(&[2], Order::C, vec![true, false]);
    check_real(&folder, &truth, &[1.0, 0.0]);
    let big = [1.5_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat();
    check_real(&folder, &npy("'>f8'", "False", "(2,)", &big), &[1.5, -2.0]);
    let big = [1_i16.to_be_bytes(), (-2_i16).to_be_bytes()].concat();
    check_real(&folder, &npy("'>i2'", "False", "(2,)", &big), &[1.0, -2.0]);
    // A single number has no axes.
    let single = npy("'<f4'", "False", "()", &0.25_f32.to_le_bytes());
    check_real(&folder, &single, &[0.25]);
    check_real(&folder, &npy("'<f8'", "False", "(0, 3)", b""), &[]);
}

#[test]
fn complex_numbers_alternate() {
    let folder = TempDir::new("complex");
    let expected = Array {
        shape: vec![2],
        values: ArrayValues::Complex(vec![1.0, 2.0, -3.0, 0.5]),
    };
    let numbers = vec![[1.0_f64, 2.0], [-3.0, 0.5]];
    let path = folder.file("a.npy", &made(&[2], Order::C, numbers));
    assert_eq!(array::read(&path).unwrap(), expected);
    let numbers = vec![[1.0_f32, 2.0], [-3.0, 0.5]];
    let path = folder.file("a.npy", &made(&[2], Order::C, numbers));
    assert_eq!(array::read(&path).unwrap(), expected);
    let big = [1.0_f32, 2.0, -3.0, 0.5].map(f32::to_be_bytes).concat();
    let path = folder.file("a.npy", &npy("'>c8'", "False", "(2,)", &big));
    assert_eq!(array::read(&path).unwrap(), expected);
}

#[test]
fn fortran_order_becomes_c_order() {
    let folder = TempDir::new("fortran");
    let columns = made(&[2, 3], Order::Fortran, vec![0_u8, 3, 1, 4, 2, 5]);
    let path = folder.file("a.npy", &columns);
    let rows = vec![vec![0.0, 1.0, 2.0], vec![3.0, 4.0, 5.0]];
    assert_eq!(array::signals(&path).unwrap(), Signals::Real(rows));
}

#[test]
fn signals_are_rows() {
    let folder = TempDir::new("signals");
    let path = folder.path().join("a.npy");
    let read = |shape: &[usize], values: ArrayValues| {
        array::write(&path, shape, &values).unwrap();
        array::signals(&path)
    };
    let real = ArrayValues::Real(vec![1.0, 2.0]);
    let one = read(&[2], real.clone()).unwrap();
    assert_eq!(one, Signals::Real(vec![vec![1.0, 2.0]]));
    let two = read(&[2, 1], real).unwrap();
    assert_eq!(two, Signals::Real(vec![vec![1.0], vec![2.0]]));
    let complex = read(&[2, 1], ArrayValues::Complex(vec![1.0, 2.0, 3.0, 4.0])).unwrap();
    assert_eq!(
        complex,
        Signals::Complex(vec![vec![1.0, 2.0], vec![3.0, 4.0]])
    );
    for (shape, values) in [
        (&[][..], vec![1.0]),
        (&[0], vec![]),
        (&[2, 0], vec![]),
        (&[1, 1, 1], vec![1.0]),
    ] {
        let error = read(shape, ArrayValues::Real(values)).unwrap_err();
        assert!(matches!(error, FileError::Shape { .. }), "{error}");
        assert!(error.to_string().contains("one or two axes"), "{error}");
    }
}

#[test]
fn numbers_must_be_finite() {
    let folder = TempDir::new("finite");
    let mut values = vec![0.0; 24];
    values[17] = f64::NAN;
    let path = folder.file("a.npy", &made(&[2, 3, 4], Order::C, values));
    check_refused(&path, &["[1, 1, 1]", "NaN"]);
    // The same place, counted along columns.
    let mut values = vec![0.0_f32; 6];
    values[5] = f32::NEG_INFINITY;
    let path = folder.file("a.npy", &made(&[3, 2], Order::Fortran, values));
    check_refused(&path, &["[2, 1]", "-inf"]);
    let values = vec![[0.0, 0.0], [0.0, f64::NAN]];
    let path = folder.file("a.npy", &made(&[2], Order::C, values));
    check_refused(&path, &["[1]", "NaN"]);

    let path = folder.path().join("b.npy");
    let values = ArrayValues::Complex(vec![0.0, 0.0, f64::INFINITY, 0.0]);
    let error = array::write(&path, &[2, 1], &values).unwrap_err();
    assert!(error.to_string().contains("[1, 0]"), "{error}");
    assert!(!path.exists());
}

#[test]
fn other_files_are_refused() {
    let folder = TempDir::new("refused");
    let refused = |content: &[u8], part: &str| {
        check_refused(&folder.file("a.npy", content), &[part]);
    };
    refused(b"", "empty");
    refused(b"1,2,3\n4,5,6\n", "not that of a .npy file");
    refused(b"PK\x03\x04....", "not that of a .npy file");
    refused(b"\x93NUMPY\x01\x00", "cut short");
    refused(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "cut short");
    refused(b"\x93NUMPY\x09\x00\x01\x00\x00\x00{", "version");
    refused(&npy("'<U3'", "False", "(1,)", &[0; 12]), "'<U3'");
    refused(&npy("'<f2'", "False", "(1,)", &[0; 2]), "'<f2'");
    refused(&npy("'|O'", "False", "(1,)", &[0; 9]), "convert it to");
    refused(&npy("[('a', '<f8')]", "False", "(1,)", &[0; 8]), "'a'");
    refused(&npy("'<f8'", "Perhaps", "(1,)", &[0; 8]), "damaged");
    refused(&npy("'|b1'", "False", "(1,)", &[7]), "damaged");
    let nested = "(".repeat(60_000);
    refused(&npy("'<f8'", "False", &nested, &[]), "too long");
}

#[test]
fn headers_that_promise_too_much_are_refused() {
    let folder = TempDir::new("promise");
    for shape in [
        "(1000000000000000000,)",
        "(1000000000, 1000000000)",
        "(4294967296, 4294967296)",
        "(99999999999999999999999,)",
        "(0, 1000000000000000000, 1000000000000000000)",
        "(0xffffffffffff, 0xffffffffffff)",
        "(3,)",
    ] {
        for descr in ["'<f8'", "'<c16'"] {
            let path = folder.file("a.npy", &npy(descr, "False", shape, &[0; 16]));
            check_refused(&path, &["damaged"]);
        }
    }
    let whole = made(&[4], Order::C, vec![1.0_f64; 4]);
    for len in 0..whole.len() {
        let path = folder.file("a.npy", &whole[..len]);
        array::read(&path).unwrap_err();
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = TempDir::new("written");
    let below = folder.file("file", b"").join("a.npy");
    let error = array::write(&below, &[1], &ArrayValues::Real(vec![1.0])).unwrap_err();
    assert!(matches!(error, FileError::Write { .. }));
    assert!(error.to_string().contains("a.npy"), "{error}");
}

#[test]
fn reference_data_is_read() {
    let Some(folder) = shared("reference/data") else {
        return;
    };
    let path = |name: &str| -> PathBuf { folder.join(name) };
    match array::signals(&path("denoise1_noisy.npy")).unwrap() {
        Signals::Real(rows) => assert!(rows.len() == 10 && rows.iter().all(|r| r.len() == 256)),
        other => panic!("{other:?}"),
    }
    match array::signals(&path("mri_noisy.npy")).unwrap() {
        Signals::Complex(rows) => assert!(rows.len() == 10 && rows.iter().all(|r| r.len() == 128)),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(
        shape in prop::collection::vec(0_usize..5, 0..4),
        seed in prop::collection::vec(-1e300..1e300, 250),
        is_complex in any::<bool>(),
    ) {
        let folder = TempDir::new("round");
        let path = folder.path().join("a.npy");
        let len = shape.iter().product::<usize>();
        let values = match is_complex {
            false => ArrayValues::Real(seed[..len].to_vec()),
            true => ArrayValues::Complex(seed[..2 * len].to_vec()),
        };
        array::write(&path, &shape, &values).unwrap();
        prop_assert_eq!(array::read(&path).unwrap(), Array { shape, values });
    }

    #[test]
    fn broken_files_do_not_bring_the_program_down(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let folder = TempDir::new("broken-arrays");
        let mut content = made(&[2, 3], Order::C, vec![1.0_f64; 6]);
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        if let Ok(array) = array::read(&folder.file("a.npy", &content))
            && let ArrayValues::Real(numbers) = array.values
        {
            prop_assert_eq!(array.shape.iter().product::<usize>(), numbers.len());
        }
    }
}

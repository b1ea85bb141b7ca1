//! The directory of a run through the public functions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::scratch::TempDir;
use bilevel_cli::store::{self, SavedRun, Store, StoreError};
use proptest::collection::vec;
use proptest::prelude::*;

/// A run of two commits with the blobs 1 and 2.
fn small_run(dir: &Path) -> Result<(), StoreError> {
    let mut store = Store::create(dir, "seed = 1\n")?;
    store.commit(
        &[(0, b"zero"), (1, b"one")],
        &["{}".into()],
        b"first",
        &[0, 1],
    )?;
    let lines = ["{\"a\":1}".into(), String::new(), "é".into()];
    store.commit(&[(2, b"two")], &lines, b"second", &[2, 1])
}

#[test]
fn a_run_comes_back_as_it_was() {
    let temp = TempDir::new("run-back");
    let dir = temp.path().join("some").join("parents");
    small_run(&dir).unwrap();
    let expected = SavedRun {
        history: ["{}", "{\"a\":1}", "", "é"].map(str::to_owned).to_vec(),
        payload: b"second".to_vec(),
        blobs: vec![1, 2],
    };
    assert_eq!(Store::read(&dir).unwrap().as_ref(), Some(&expected));
    assert_eq!(Store::read_settings(&dir).unwrap(), "seed = 1\n");
    let (store, saved) = Store::open(&dir).unwrap();
    assert_eq!(saved, Some(expected));
    assert_eq!(store.settings(), "seed = 1\n");
    assert_eq!(store.dir(), dir);
    assert_eq!(store.blob(1).unwrap(), b"one");
    assert_eq!(store.blob(2).unwrap(), b"two");
    assert!(matches!(store.blob(0), Err(StoreError::Damaged { .. })));
    store.write_text("result.json", "{}").unwrap();
    store.close().unwrap();
    assert_eq!(fs::read_to_string(dir.join("result.json")).unwrap(), "{}");
    let history = fs::read_to_string(dir.join("history.jsonl")).unwrap();
    assert_eq!(history, "{}\n{\"a\":1}\n\né\n");
}

#[test]
fn a_run_without_a_commit_has_saved_nothing() {
    let temp = TempDir::new("run-nothing");
    drop(Store::create(temp.path(), "").unwrap());
    assert_eq!(Store::read(temp.path()).unwrap(), None);
    let (store, saved) = Store::open(temp.path()).unwrap();
    assert_eq!((store.settings(), saved), ("", None));
}

#[test]
fn only_one_works_on_a_run_and_all_read_it() {
    let temp = TempDir::new("run-one");
    small_run(temp.path()).unwrap();
    let (store, _) = Store::open(temp.path()).unwrap();
    let error = Store::open(temp.path()).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    assert!(Store::read(temp.path()).unwrap().is_some());
    store::write_text(&temp.path().join("report.html"), "<p>").unwrap();
    drop(store);
    Store::open(temp.path()).unwrap();
}

#[test]
fn a_new_run_needs_an_empty_place() {
    let temp = TempDir::new("run-empty");
    let refusal = |dir: &Path| Store::create(dir, "new").unwrap_err();
    let run = temp.path().join("run");
    small_run(&run).unwrap();
    let error = refusal(&run);
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert!(error.to_string().contains("`bilevel resume "), "{error}");

    // Settings that the user wrote there are not a run.
    let own = temp.path().join("own");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("bilevel.toml"), "mine").unwrap();
    assert!(matches!(refusal(&own), StoreError::NotEmpty { .. }));
    for error in [Store::open(&own).err(), Store::read(&own).err()] {
        assert!(matches!(error, Some(StoreError::NotARun { .. })));
    }
    assert_eq!(fs::read_dir(&own).unwrap().count(), 1);

    // A run that has lost its settings is not thrown away.
    let lost = temp.path().join("lost");
    drop(Store::create(&lost, "").unwrap());
    fs::remove_file(lost.join("bilevel.toml")).unwrap();
    Store::create(&lost, "")
        .unwrap()
        .commit(&[], &[], b"work", &[])
        .unwrap();
    fs::remove_file(lost.join("bilevel.toml")).unwrap();
    assert!(matches!(refusal(&lost), StoreError::NotEmpty { .. }));

    let file = own.join("bilevel.toml");
    for dir in [file.join("run"), file] {
        let error = refusal(&dir);
        assert!(
            error.to_string().contains("choose another place"),
            "{error}"
        );
    }
    let missing = Store::open(&temp.path().join("missing")).unwrap_err();
    assert!(matches!(missing, StoreError::NotARun { .. }), "{missing}");
}

/// The files that a run needs, and the functions that notice a change of each.
const FILES: [&str; 4] = [
    "engine.bin",
    "history.jsonl",
    "states/000001.bin",
    "states/000002.bin",
];

#[test]
fn a_changed_byte_is_found_and_nothing_is_lost() {
    let temp = TempDir::new("run-changed");
    small_run(temp.path()).unwrap();
    for file in FILES {
        let path = temp.path().join(file);
        let whole = fs::read(&path).unwrap();
        let mut wrong: Vec<Vec<u8>> = (0..whole.len()).map(|len| whole[..len].to_vec()).collect();
        for at in 0..whole.len() {
            for mask in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut bytes = whole.clone();
                bytes[at] ^= mask;
                wrong.push(bytes);
            }
        }
        for bytes in wrong {
            fs::write(&path, bytes).unwrap();
            let error = match Store::open(temp.path()) {
                Ok((store, _)) => store.blob(1).and(store.blob(2)).unwrap_err(),
                Err(error) => error,
            };
            let message = error.to_string();
            assert!(matches!(error, StoreError::Damaged { .. }), "{message}");
            assert!(
                message.contains(path.file_name().unwrap().to_str().unwrap()),
                "{message}"
            );
            assert!(message.contains("restore it from a backup"), "{message}");
        }
        fs::remove_file(&path).unwrap();
        let error = Store::open(temp.path()).unwrap_err();
        assert!(error.to_string().contains("it is missing"), "{error}");
        fs::write(&path, whole).unwrap();
        Store::open(temp.path()).unwrap();
    }
}

#[test]
fn a_blob_of_another_number_or_run_is_not_taken() {
    let temp = TempDir::new("run-swapped");
    small_run(temp.path()).unwrap();
    let states = temp.path().join("states");
    fs::copy(states.join("000001.bin"), states.join("000002.bin")).unwrap();
    let (store, _) = Store::open(temp.path()).unwrap();
    assert_eq!(store.blob(1).unwrap(), b"one");
    assert!(matches!(store.blob(2), Err(StoreError::Damaged { .. })));
}

#[test]
#[should_panic(expected = "line break")]
fn a_line_is_one_line() {
    let temp = TempDir::new("run-line");
    let mut store = Store::create(temp.path(), "").unwrap();
    let _ = store.commit(&[], &["a\nb".into()], b"", &[]);
}

#[test]
#[should_panic(expected = "blob 3 exists already")]
fn a_blob_is_written_once() {
    let temp = TempDir::new("run-once");
    let mut store = Store::create(temp.path(), "").unwrap();
    store.commit(&[(3, b"a")], &[], b"", &[3]).unwrap();
    let _ = store.commit(&[(3, b"b")], &[], b"", &[3]);
}

#[test]
#[should_panic(expected = "engine.bin cannot be written")]
fn own_files_are_not_texts() {
    let temp = TempDir::new("run-own");
    let _ = Store::create(temp.path(), "")
        .unwrap()
        .write_text("engine.bin", "");
}

/// One commit of a random sequence: numbers and sizes of blobs, lines, payload, which blobs stay,
/// and whether the run is opened again afterwards.
type Random = (Vec<(u64, usize)>, Vec<String>, Vec<u8>, u8, bool);

fn random() -> impl Strategy<Value = Random> {
    let blobs = vec((0_u64..8, 0_usize..200), 0..3);
    let lines = vec("[ -~]{0,12}", 0..3);
    (
        blobs,
        lines,
        vec(any::<u8>(), 0..50),
        any::<u8>(),
        any::<bool>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_sequence_of_commits_agrees_with_a_model(sequence in vec(random(), 1..8)) {
        let temp = TempDir::new("run-model");
        let mut store = Store::create(temp.path(), "settings").unwrap();
        let mut history: Vec<String> = Vec::new();
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (turn, (blobs, lines, payload, stay, again)) in sequence.into_iter().enumerate() {
            let mut new: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            for (number, size) in blobs {
                if !model.contains_key(&number) {
                    new.insert(number, format!("{turn} {number} ").repeat(size).into_bytes());
                }
            }
            model.extend(new.clone());
            model.retain(|number, _| stay >> number & 1 == 1);
            history.extend(lines.clone());
            let new: Vec<(u64, &[u8])> = new.iter().map(|(n, bytes)| (*n, &bytes[..])).collect();
            let live: Vec<u64> = model.keys().rev().copied().collect();
            store.commit(&new, &lines, &payload, &live).unwrap();

            let blobs: Vec<u64> = model.keys().copied().collect();
            let expected = Some(SavedRun { history: history.clone(), payload, blobs });
            prop_assert_eq!(&Store::read(temp.path()).unwrap(), &expected);
            if again {
                drop(store);
                let (opened, saved) = Store::open(temp.path()).unwrap();
                prop_assert_eq!(saved, expected);
                store = opened;
            }
            for (number, bytes) in &model {
                prop_assert_eq!(&store.blob(*number).unwrap(), bytes);
            }
            prop_assert_eq!(fs::read_dir(temp.path().join("states")).unwrap().count(), model.len());
        }
    }
}

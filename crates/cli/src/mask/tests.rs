use super::*;
use crate::temp_dir::TempDir;

fn settings() -> MaskSettings {
    let mut settings = MaskSettings::default();
    (settings.data.size, settings.data.count) = (16, 3);
    (settings.mask.centre, settings.mask.max_exchanges) = (2, 4);
    settings.mask.noise = MaskSettings::BUILT_IN_NOISE;
    settings
}

#[test]
fn an_interrupted_run_keeps_its_mask_and_continues() {
    let temp = TempDir::new("resume");
    let run = temp.at("run");
    let stop = AtomicBool::new(false);
    let made = learn(&settings(), &run, &stop, &mut |event| {
        if event.size == 3 {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let made = made.unwrap();
    assert!(!made.outcome.is_complete && made.outcome.elements.len() == 3);
    for file in [MASK, PICTURE, INDICES, REPORT, RESULT] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert!(is_run(&run));
    let first = made.outcome.elements;
    let stop = AtomicBool::new(false);
    let made = resume(&run, &stop, &mut |_| {}).unwrap();
    let outcome = made.outcome;
    assert!(outcome.is_complete && !made.was_finished);
    assert_eq!(outcome.elements.len(), 4);
    // it goes on from the mask that it had, and counts all masks
    let kept = first.iter().filter(|line| outcome.elements.contains(line));
    assert!(kept.count() >= 2 && outcome.evaluations > 4, "{outcome:?}");
    let again = resume(&run, &stop, &mut |_| {}).unwrap();
    assert!(again.was_finished && again.outcome == outcome);
}

#[test]
fn settings_survive_a_file() {
    let mut all = settings();
    all.data.kspace = Some("slices.npy".into());
    all.mask.hold_out = Some(2);
    let text = all.to_toml().unwrap();
    assert!(MaskSettings::is_mask(&text));
    assert_eq!(MaskSettings::parse(&text, Path::new("run")).unwrap(), all);
    let wrong = text.replace("budget", "bugdet");
    let message = MaskSettings::parse(&wrong, Path::new("run"))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("bugdet") && message.contains("line "),
        "{message}"
    );
    assert!(!MaskSettings::is_mask("task = \"denoise\""));
}

//! The history of a run: one line of JSON for each evaluation and each iteration, with the seconds
//! since the beginning.
//!
//! ```text
//! {"evaluation":{"point":0,"theta":[0.0],...},"seconds":0.31}
//! {"iteration":{"number":0,"kind":"Initial",...},"seconds":1.25}
//! ```
//! JSON has no infinity. A record that JSON cannot represent exactly is repeated in binary form, as
//! `exact`.

use std::fmt::Write as _;

use dfo_ls::{EvalRecord, Iteration};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};

/// The content of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// All evaluations.
    pub evaluations: Vec<EvalRecord>,
    /// The time of each evaluation, in seconds of work since the run began.
    pub evaluation_seconds: Vec<f64>,
    /// All iterations.
    pub iterations: Vec<Iteration>,
    /// The time of each iteration, in seconds of work since the run began.
    pub iteration_seconds: Vec<f64>,
}

/// One line, with either an evaluation or an iteration. Both are raw values, so that `exact` can
/// replace a record that cannot be parsed.
#[derive(Deserialize)]
struct Line {
    evaluation: Option<serde_json::Value>,
    iteration: Option<serde_json::Value>,
    exact: Option<String>,
    seconds: f64,
}

/// Returns the line of an evaluation.
pub(super) fn evaluation(record: &EvalRecord, seconds: f64) -> String {
    line("evaluation", record, seconds)
}

/// Returns the line of an iteration.
pub(super) fn iteration(record: &Iteration, seconds: f64) -> String {
    line("iteration", record, seconds)
}

fn line<T: Serialize + DeserializeOwned>(key: &str, record: &T, seconds: f64) -> String {
    let json = serde_json::to_string(record).unwrap_or_else(|_| "null".to_owned());
    let mut line = format!("{{\"{key}\":{json},\"seconds\":{seconds:.3}");
    let exact = postcard::to_stdvec(record).unwrap_or_default();
    let again = serde_json::from_str::<T>(&json).ok();
    let again = again.and_then(|record| postcard::to_stdvec(&record).ok());
    if again.as_ref() != Some(&exact) {
        line.push_str(",\"exact\":\"");
        for byte in exact {
            // writing to a string does not fail
            let _ = write!(line, "{byte:02x}");
        }
        line.push('"');
    }
    line.push('}');
    line
}

/// Reads the lines of a history.
///
/// # Errors
/// When a line is not one of a history.
pub fn parse(lines: &[String]) -> Result<History, serde_json::Error> {
    let mut history = History::default();
    for line in lines {
        let line: Line = serde_json::from_str(line)?;
        let exact = line.exact.as_deref();
        if let Some(value) = line.evaluation {
            history.evaluations.push(record(value, exact)?);
            history.evaluation_seconds.push(line.seconds);
        } else if let Some(value) = line.iteration {
            history.iterations.push(record(value, exact)?);
            history.iteration_seconds.push(line.seconds);
        }
    }
    Ok(history)
}

fn record<T: DeserializeOwned>(
    value: serde_json::Value,
    exact: Option<&str>,
) -> Result<T, serde_json::Error> {
    let Some(exact) = exact else {
        return serde_json::from_value(value);
    };
    let wrong = || serde_json::Error::custom("`exact` is no record");
    let byte = |digits: &[u8; 2]| {
        let digits = std::str::from_utf8(digits).ok()?;
        u8::from_str_radix(digits, 16).ok()
    };
    let (digits, rest) = exact.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = digits.iter().map(byte).collect();
    let bytes = bytes.filter(|_| rest.is_empty()).ok_or_else(wrong)?;
    postcard::from_bytes(&bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, change: impl Fn(&mut Iteration)) -> String {
        let mut record: Iteration = serde_json::from_str(text).unwrap();
        change(&mut record);
        let line = iteration(&record, 1.25);
        let history = parse(std::slice::from_ref(&line)).unwrap();
        assert_eq!(
            format!("{:?}", history.iterations),
            format!("{:?}", [record])
        );
        assert_eq!(history.iteration_seconds, [1.25]);
        line
    }

    #[test]
    fn every_number_comes_back() {
        let text = r#"{"number":3,"kind":"Accepted","theta":[0.1,-0.0],
            "objective":0.30000000000000004,"interval":[0.25,null],"delta":5e-324,"rho":1e308,
            "step":null,"predicted":1.0,"ratio":0.5,"certified":true,"gradient":1.0,
            "poisedness":null,"num_points":1,"num_evaluations":2,"work":3}"#;
        assert!(!check(text, |_| ()).contains("exact"));
        assert!(check(text, |record| record.gradient = f64::INFINITY).contains("exact"));
        assert!(check(text, |record| record.gradient = f64::NAN).contains("exact"));
        assert!(check(text, |record| record.ratio = Some(f64::NEG_INFINITY)).contains("exact"));
    }

    #[test]
    fn broken_lines_are_refused() {
        for line in ["", "{", "{}", "{\"evaluation\":{},\"seconds\":1}"] {
            assert!(parse(&[line.to_owned()]).is_err(), "{line}");
        }
        let odd = "{\"iteration\":null,\"seconds\":1,\"exact\":\"0\"}";
        let _ = parse(&[odd.to_owned()]);
        let odd = "{\"iteration\":{},\"seconds\":1,\"exact\":\"0g\"}";
        assert!(parse(&[odd.to_owned()]).is_err());
    }
}

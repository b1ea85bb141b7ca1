//! Measurements: a number, its unit, and the same number of another program.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

/// A measured number, and the same number of a peer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) peer: Option<PeerValue>,
    /// The entry of this measurement in the chart of the front page, if it has one.
    pub(super) headline: Option<Headline>,
}

/// A bar of the chart of the front page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headline {
    /// The peer and its task.
    pub(super) label: &'static str,
    /// Whether the peer's number is quoted from an archive, not measured in the same run.
    pub(super) is_archived: bool,
}

/// The number of a peer, in the unit of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PeerValue {
    pub(super) name: String,
    pub(super) value: f64,
}

impl Measurement {
    /// Returns a measurement without a peer.
    pub(super) fn alone(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            peer: None,
            headline: None,
        }
    }

    /// Returns one measurement for each peer that gave an answer, and one without a peer if none
    /// did.
    pub(super) fn against(
        name: &str,
        value: f64,
        unit: &'static str,
        peers: &[(&str, Option<f64>)],
    ) -> Vec<Self> {
        let alone = Self::alone(name, value, unit);
        let answered = peers.iter().filter_map(|(peer, value)| {
            let (name, value) = ((*peer).to_owned(), (*value)?);
            let peer = Some(PeerValue { name, value });
            Some(Self {
                peer,
                ..alone.clone()
            })
        });
        let compared: Vec<Self> = answered.collect();
        if compared.is_empty() {
            vec![alone]
        } else {
            compared
        }
    }

    /// Puts the measurement into the chart of the front page if it is compared with this peer.
    pub(super) fn with_headline(mut self, peer: &str, headline: Headline) -> Self {
        if self.peer.as_ref().is_some_and(|known| known.name == peer) {
            self.headline = Some(headline);
        }
        self
    }

    /// Returns the peer's number divided by ours; `None` unless both are positive.
    pub(super) fn ratio(&self) -> Option<f64> {
        let peer = self.peer.as_ref()?.value;
        (self.value > 0.0 && peer > 0.0).then(|| peer / self.value)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "peer": self.peer.as_ref().map(|peer| peer.name.as_str()),
            "peer_value": self.peer.as_ref().map(|peer| peer.value),
            "ratio": self.ratio(),
        })
    }

    /// Prints the measurement as one line.
    pub(super) fn print(&self, out: &mut dyn Write) -> Result<()> {
        let value = format!("{} {}", short(self.value), self.unit);
        let (mut peer, mut ratio) = (String::new(), String::new());
        if let Some(PeerValue { name, value }) = &self.peer {
            peer = format!("{} {}  {name}", short(*value), self.unit);
            ratio = self.ratio().map_or_else(String::new, times);
        }
        let line = format!("  {:62} {value:>22} {ratio:>8}  {peer}", self.name);
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
}

/// Writes a JSON array with one measurement per line.
pub(super) fn to_json(measurements: &[Measurement]) -> String {
    let lines = measurements.iter().map(|one| one.to_json().to_string());
    format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"))
}

/// Writes a number with three digits, without an exponent if it is between 1e-4 and 1e9; a whole
/// number with all its digits.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size < 1e9 && value.fract() == 0.0 => format!("{value:.0}"),
        _ if !(1e-4..1e9).contains(&size) => format!("{value:.2e}"),
        _ => {
            let decade = (0..12).take_while(|k| size >= 10_f64.powi(*k)).count();
            let leading_zeros = (1..6).take_while(|k| size < 10_f64.powi(-*k)).count();
            let decimals = if decade == 0 {
                3 + leading_zeros
            } else {
                3_usize.saturating_sub(decade)
            };
            format!("{value:.decimals$}")
        }
    }
}

/// Writes a ratio: "30×".
pub(super) fn times(ratio: f64) -> String {
    format!("{}×", short(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_exactly_six_fields_and_null_without_a_peer() {
        let rows = Measurement::against("a", 2.0, "s", &[("b", Some(6.0)), ("c", None)]);
        assert_eq!(rows.len(), 1);
        let expected = json!({
            "name": "a", "value": 2.0, "unit": "s", "peer": "b", "peer_value": 6.0, "ratio": 3.0,
        });
        assert_eq!(rows[0].to_json(), expected);
        let alone = Measurement::against("a", 2.0, "s", &[("c", None)]);
        let expected = json!({
            "name": "a", "value": 2.0, "unit": "s", "peer": null, "peer_value": null, "ratio": null,
        });
        assert_eq!(alone.len(), 1);
        assert_eq!(alone[0].to_json(), expected);
        let text = to_json(&[rows, alone].concat());
        let read: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.len(), 2);
        assert!(read.iter().all(|row| row.as_object().unwrap().len() == 6));
    }

    #[test]
    fn there_is_no_ratio_unless_both_numbers_are_positive() {
        for (value, peer) in [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, -1.0)] {
            let row = &Measurement::against("a", value, "s", &[("b", Some(peer))])[0];
            assert_eq!(row.ratio(), None);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (2.547, "2.55"),
            (25.47, "25.5"),
            (254.7, "255"),
            (25471.0, "25471"),
            (0.2547, "0.255"),
            (0.002_547, "0.00255"),
            (1.0, "1"),
            (10.0, "10"),
            (10.01, "10.0"),
            (2.5e-9, "2.50e-9"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn a_line_of_the_table_has_everything() {
        let mut out = Vec::new();
        let row = &Measurement::against("solve", 2.0, "ms", &[("NumPy", Some(60.0))])[0];
        row.print(&mut out).unwrap();
        let line = String::from_utf8(out).unwrap();
        for part in ["solve", "2 ms", "60 ms", "NumPy", "30×"] {
            assert!(line.contains(part), "{line}");
        }
    }
}

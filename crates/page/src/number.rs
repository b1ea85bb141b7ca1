//! Numbers formatted for people, on pages and in terminals.
//!
//! A number has few significant digits and an exponent only where zeros would hide them: 0.0702,
//! 12.5, 3217, 1.23e-4. More than four digits before the point come in groups of three. A narrow
//! no-break space separates groups, and numbers from their units. NaN is "unknown".

/// Narrow no-break space.
const THIN: char = '\u{202f}';

/// Writes three significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    significant(value, 3)
}

/// Writes a number with this many significant digits, without zeros at the end. Whole numbers below
/// a million are not rounded.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "unknown".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-3..6).contains(&exponent) {
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    let digits = i32::try_from(digits).unwrap_or(i32::MAX);
    let decimals = usize::try_from(digits - 1 - exponent).unwrap_or(0);
    grouped(trimmed(&format!("{value:.decimals$}")))
}

/// Drops zeros at the end of a fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Separates groups of three digits before the point, if there are more than four.
fn grouped(text: &str) -> String {
    let begin = usize::from(text.starts_with('-'));
    let end = text.find('.').unwrap_or(text.len());
    let mut out = text.to_owned();
    if end - begin > 4 {
        for place in (begin + 1..end).rev() {
            if (end - place).is_multiple_of(3) {
                out.insert(place, THIN);
            }
        }
    }
    out
}

/// Writes a count with all its digits.
#[must_use]
pub fn whole(count: u64) -> String {
    grouped(&count.to_string())
}

/// Returns the length of a list, for [`whole`] and [`counted`].
#[must_use]
pub const fn length<T>(list: &[T]) -> u64 {
    list.len() as u64
}

/// Writes a count with its noun: "1 image", "25 images".
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", whole(count), if count == 1 { one } else { many })
}

/// Writes a large count with three digits: "34.5k", "1.00M".
#[must_use]
pub fn amount(count: u64) -> String {
    if count < 1000 {
        return count.to_string();
    }
    let mut value = count as f64;
    for suffix in ["k", "M", "G", "T"] {
        value /= 1000.0;
        if value < 999.5 {
            // the factor keeps 9.999 from becoming 10.000
            return format!("{value:.*}{suffix}", decimals(value * 1.000_5, 3));
        }
    }
    format!("{value:.0}T")
}

/// Writes a share in percent, with two significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 1e-3 {
        return format!("less than 0.001{THIN}%");
    }
    format!("{}{THIN}%", significant(percent, 2))
}

/// Writes decibels with one decimal: smaller differences cannot be seen.
#[must_use]
pub fn decibel(value: f64) -> String {
    format!("{value:.1}{THIN}dB")
}

/// Writes a time in its two largest units: "4.2 s", "3 min 12 s", "2 h 5 min", "11 d 14 h".
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !(0.0..1e12).contains(&seconds) {
        return "unknown".to_owned();
    }
    if seconds < 60.0 {
        return format!("{}{THIN}s", significant(seconds, 2));
    }
    let [seconds, minutes, hours] = [1.0, 60.0, 3600.0].map(|unit| (seconds / unit).round());
    let (small, per_large, large_name, name) = if seconds < 3600.0 {
        (seconds, 60.0, "min", "s")
    } else if minutes < 1440.0 {
        (minutes, 60.0, "h", "min")
    } else {
        (hours, 24.0, "d", "h")
    };
    let (large, small) = ((small / per_large).floor(), small % per_large);
    format!("{large:.0}{THIN}{large_name} {small:.0}{THIN}{name}")
}

/// Writes the ends of an interval, the lower one rounded down and the upper one up, with the fewest
/// digits from three to six that leave the interval at most twice as long.
#[must_use]
pub fn between(lower: f64, upper: f64) -> [String; 2] {
    let magnitude = lower.abs().max(upper.abs()).log10().floor();
    let rounded = |digits: usize| {
        let unit = 10_f64.powf(magnitude + 1.0) / 10_f64.powf(digits as f64);
        let ends = [(lower / unit).floor() * unit, (upper / unit).ceil() * unit];
        (ends, digits)
    };
    let is_close = |ends: &[f64; 2]| ends[1] - ends[0] <= 2.0 * (upper - lower);
    let mut tried = (3..6).map(rounded);
    let (ends, digits) = (tried.find(|(ends, _)| is_close(ends))).unwrap_or_else(|| rounded(6));
    // zero and infinity cannot be rounded
    let is_number = ends.iter().all(|end| end.is_finite());
    let ends = if is_number { ends } else { [lower, upper] };
    ends.map(|end| significant(end, digits))
}

/// Writes a number and its largest error, rounded up so that the interval only grows: "3186.3 ±
/// 0.3", "(3.20 ± 0.02)e-9".
#[must_use]
pub fn with_error(value: f64, error: f64) -> String {
    if !value.is_finite() || !error.is_finite() {
        return format!("{} ± ?", significant(value, 6));
    }
    if error <= 1e-12 * value.abs() {
        return significant(value, 8);
    }
    let scale = value.abs().max(error);
    if !(1e-3..1e7).contains(&scale) {
        let exponent = scale.log10().floor();
        let unit = 10_f64.powf(exponent);
        return format!("({})e{exponent}", with_error(value / unit, error / unit));
    }
    let places = decimals(error, 1);
    let shown = format!("{value:.places$}");
    let unit = 0.1_f64.powf(places as f64);
    let rounding = (value - shown.parse().unwrap_or(value)).abs();
    let bound = ((error + rounding) / unit).ceil() * unit;
    format!("{shown} ± {bound:.places$}")
}

/// Returns the number of decimals that show this many significant digits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 20"
)]
fn decimals(value: f64, digits: usize) -> usize {
    let before = value.abs().log10().floor() + 1.0;
    (digits as f64 - before).clamp(0.0, 20.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (0.070_23, "0.0702"),
            (0.07, "0.07"),
            (-12.345, "-12.3"),
            (99.96, "100"),
            (999.6, "1000"),
            (3216.9, "3217"),
            (123_456.7, "123\u{202f}457"),
            (-123_456.7, "-123\u{202f}457"),
            (999_999.0, "1e6"),
            (1e-7, "1e-7"),
            (1e7, "1e7"),
            (1.2345e-4, "1.23e-4"),
            (0.001, "0.001"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(whole(1234), "1234");
        assert_eq!(whole(12_345), "12\u{202f}345");
        assert_eq!(whole(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(counted(1, "image", "images"), "1 image");
        assert_eq!(counted(0, "image", "images"), "0 images");
    }

    #[test]
    fn units() {
        assert_eq!(percent(0.12345), "12\u{202f}%");
        assert_eq!(percent(0.0), "0\u{202f}%");
        assert_eq!(percent(1e-9), "less than 0.001\u{202f}%");
        assert_eq!(decibel(25.06), "25.1\u{202f}dB");
        assert_eq!(duration(4.25), "4.2\u{202f}s");
        assert_eq!(duration(59.99), "60\u{202f}s");
        assert_eq!(duration(192.2), "3\u{202f}min 12\u{202f}s");
        assert_eq!(duration(3599.9), "1\u{202f}h 0\u{202f}min");
        assert_eq!(duration(7500.0), "2\u{202f}h 5\u{202f}min");
        assert_eq!(duration(86_399.0), "1\u{202f}d 0\u{202f}h");
        assert_eq!(duration(1e6), "11\u{202f}d 14\u{202f}h");
        assert_eq!(duration(f64::NAN), "unknown");
    }

    #[test]
    fn intervals_are_rounded_outwards() {
        for (lower, upper, expected) in [
            (1.0, 2.0, ["1", "2"]),
            (1.371_45, 1.371_52, ["1.37145", "1.37152"]),
            (3202.15, 3202.25, ["3202.1", "3202.3"]),
            (0.101_171_183, 0.101_171_184, ["0.101171", "0.101172"]),
            (351.2, 458.6, ["351", "459"]),
            (0.02, 458.6, ["0", "459"]),
            (2.5, 2.5, ["2.5", "2.5"]),
            (0.0, 0.0, ["0", "0"]),
            (1.0, f64::INFINITY, ["1", "∞"]),
        ] {
            assert_eq!(between(lower, upper), expected, "{lower} {upper}");
        }
    }

    #[test]
    fn large_counts_are_short() {
        assert_eq!(amount(999), "999");
        assert_eq!(amount(34_512), "34.5k");
        assert_eq!(amount(999_999), "1.00M");
        assert_eq!(amount(u64::MAX), "18446744T");
    }

    #[test]
    fn errors_decide_about_decimals() {
        for (value, error, expected) in [
            (3186.312, 0.21, "3186.3 ± 0.3"),
            (3186.312, 21.0, "3186 ± 22"),
            (3.2e-9, 1.1e-11, "(3.20 ± 0.02)e-9"),
            (0.5, f64::INFINITY, "0.5 ± ?"),
            (0.5, f64::NAN, "0.5 ± ?"),
            (0.0, 1e-40, "(0 ± 1)e-40"),
            (2.0, 0.0, "2"),
            (0.0, 0.0, "0"),
        ] {
            assert_eq!(with_error(value, error), expected, "{value} {error}");
        }
        assert_eq!(significant(0.031_234_5, 4), "0.03123");
        assert_eq!(significant(-2.5e9, 2), "-2.5e9");
    }
}

//! Numbers for people: few digits, units, thin spaces.

/// Keeps a number and its unit, or the digits of a number, on one line.
const THIN: char = '\u{202f}';

/// With three significant digits: 0.0702, 12.5, 3217, 1.23e-4.
#[must_use]
pub fn number(value: f64) -> String {
    significant(value, 3)
}

/// With so many significant digits. Integers up to a million are written in full, whatever the number of digits.
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
    let fixed = format!("{value:.decimals$}");
    let (whole, rest) = trimmed(&fixed)
        .split_once('.')
        .unwrap_or((trimmed(&fixed), ""));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{}{point}{rest}", grouped(whole))
}

/// Without zeros at the end of a fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Digits in groups of three, if there are more than four.
fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    out
}

/// 123 456.
#[must_use]
pub fn whole(count: u64) -> String {
    grouped(&count.to_string())
}

/// The length of a list, for [`whole`].
#[must_use]
pub fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

/// "1 image", "25 images".
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", whole(count), if count == 1 { one } else { many })
}

/// A share in percent, with two significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 1e-3 {
        return format!("less than 0.001{THIN}%");
    }
    format!("{}{THIN}%", significant(percent, 2))
}

/// One decimal is what an eye can tell.
#[must_use]
pub fn decibel(value: f64) -> String {
    format!("{value:.1}{THIN}dB")
}

/// 2 h 5 min, 3 min 12 s, 4.2 s.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !(0.0..1e12).contains(&seconds) {
        return "unknown".to_owned();
    }
    if seconds < 60.0 {
        return format!("{}{THIN}s", significant(seconds, 2));
    }
    let rounded = seconds.round();
    let (large, small, names) = if rounded < 3600.0 {
        ((rounded / 60.0).floor(), rounded % 60.0, ["min", "s"])
    } else {
        let minutes = (seconds / 60.0).round();
        ((minutes / 60.0).floor(), minutes % 60.0, ["h", "min"])
    };
    let [first, second] = names;
    format!("{large:.0}{THIN}{first} {small:.0}{THIN}{second}")
}

/// Two numbers, the first rounded down and the second up, with as few digits as say about how far they are apart: at most six.
#[must_use]
pub fn between(lower: f64, upper: f64) -> [String; 2] {
    let magnitude = lower.abs().max(upper.abs()).log10().floor();
    let rounded = |digits: usize| {
        let unit = 10_f64.powf(magnitude + 1.0) / 10_f64.powf(count(digits));
        let ends = [(lower / unit).floor() * unit, (upper / unit).ceil() * unit];
        (ends, digits)
    };
    let is_close = |ends: &[f64; 2]| ends[1] - ends[0] <= 2.0 * (upper - lower);
    let mut tried = (3..6).map(rounded);
    let (ends, digits) = (tried.find(|(ends, _)| is_close(ends))).unwrap_or_else(|| rounded(6));
    // nothing to round in zero or infinity
    let is_number = ends.iter().all(|end| end.is_finite());
    let ends = if is_number { ends } else { [lower, upper] };
    ends.map(|end| significant(end, digits))
}

/// As an exponent.
const fn count(digits: usize) -> f64 {
    digits as f64
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
}

//! Numbers for people.

use crate::session::Moment;

/// More parameters than this are counted, not listed.
const LISTED: usize = 4;
/// A parameter this close to a bound, as a share of its range, is on it.
const ON_BOUND: f64 = 1e-6;

/// The state of a run in one line, without points and time.
pub(super) fn describe(moment: &Moment<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(best) = moment.best {
        let lower = best.objective - best.interval.lower;
        let upper = best.interval.upper - best.objective;
        parts.push(format!(
            "f {}",
            with_error(best.objective, lower.max(upper))
        ));
        if let Some(psnr) = psnr(best.mse) {
            parts.push(format!("PSNR {psnr:.2} dB"));
        }
        let parameters = moment.parameters.iter();
        if moment.parameters.len() <= LISTED {
            let named = parameters.zip(&best.values);
            let named = named.map(|(p, value)| format!("{} {}", p.name, significant(*value, 4)));
            parts.push(named.collect::<Vec<_>>().join(", "));
        } else {
            let above = parameters.zip(&best.theta);
            let above =
                above.filter(|(p, theta)| **theta - p.lower > ON_BOUND * (p.upper - p.lower));
            parts.push(format!(
                "{} parameters, {} above their lower bound",
                moment.parameters.len(),
                above.count()
            ));
        }
    }
    if let Some(target) = moment
        .target
        .map(|target| target.value())
        .filter(|x| x.is_finite())
    {
        parts.push(format!("accuracy {}", significant(target, 2)));
    }
    parts.push(format!("{} gradients", amount(moment.work)));
    parts.join("  ")
}

/// Peak signal-to-noise ratio in dB.
pub(super) fn psnr(mse: Option<f64>) -> Option<f64> {
    let mse = mse.filter(|mse| *mse > 0.0)?;
    Some(-10.0 * mse.log10())
}

/// A number with so many digits that matter, with an exponent where zeros would hide them.
pub(crate) fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let digits = digits.max(1);
    if !(1e-3..1e6).contains(&x.abs()) {
        let text = format!("{x:.*e}", digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    without_zeros(&format!("{x:.*}", decimals(x, digits))).to_owned()
}

/// A number and how far it may be off: `3186.3 ± 0.2`.
pub(crate) fn with_error(x: f64, error: f64) -> String {
    if !x.is_finite() || !error.is_finite() {
        return format!("{} ± ?", significant(x, 6));
    }
    if error <= 1e-12 * x.abs() {
        return significant(x, 8);
    }
    let scale = x.abs().max(error);
    if !(1e-3..1e7).contains(&scale) {
        let exponent = scale.log10().floor();
        let unit = 10_f64.powf(exponent);
        return format!("({})e{exponent}", with_error(x / unit, error / unit));
    }
    let places = decimals(error, 1);
    format!("{x:.places$} ± {error:.places$}")
}

/// How many decimals show so many digits of `x`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 20"
)]
fn decimals(x: f64, digits: usize) -> usize {
    let before = x.abs().log10().floor() + 1.0;
    (digits as f64 - before).clamp(0.0, 20.0) as usize
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// A large number, shortened: `34.5k`.
pub(crate) fn amount(n: u64) -> String {
    let mut x = n as f64;
    if n < 1000 {
        return n.to_string();
    }
    for suffix in ["k", "M", "G", "T"] {
        x /= 1000.0;
        if x < 999.5 {
            // 9.999 would become 10.000
            return format!("{x:.*}{suffix}", decimals(x * 1.000_5, 3));
        }
    }
    format!("{x:.0}T")
}

/// A time: `45 s`, `3 min 20 s`, `2 h 05 min`, `3 d 04 h`.
pub(crate) fn duration(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is too large is cut"
    )]
    let s = seconds.round().max(0.0) as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        3600..86400 => format!("{} h {:02} min", s / 3600, s / 60 % 60),
        _ => format!("{} d {:02} h", s / 86400, s / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(with_error(3186.312, 0.21), "3186.3 ± 0.2");
        assert_eq!(with_error(3186.312, 21.0), "3186 ± 21");
        assert_eq!(with_error(3.2e-9, 1.1e-11), "(3.20 ± 0.01)e-9");
        assert_eq!(with_error(0.5, f64::INFINITY), "0.5 ± ?");
        assert_eq!(with_error(0.5, f64::NAN), "0.5 ± ?");
        assert_eq!(with_error(0.0, 1e-40), "(0 ± 1)e-40");
        assert_eq!(with_error(2.0, 0.0), "2");
        assert_eq!(with_error(0.0, 0.0), "0");
        assert_eq!(significant(0.031_234_5, 4), "0.03123");
        assert_eq!(significant(1e-7, 4), "1e-7");
        assert_eq!(significant(123_456.7, 4), "123457");
        assert_eq!(significant(-2.5e9, 2), "-2.5e9");
        assert_eq!(amount(999), "999");
        assert_eq!(amount(34_512), "34.5k");
        assert_eq!(amount(999_999), "1.00M");
        assert_eq!(amount(u64::MAX), "18446744T");
        assert_eq!(duration(0.4), "0 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 05 min");
        assert_eq!(duration(1e6), "11 d 13 h");
        assert_eq!(duration(f64::NAN), "0 s");
    }
}

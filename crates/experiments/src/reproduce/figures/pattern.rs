//! Figure 16: the sampling patterns, that is the measured Fourier coefficients.

use anyhow::{Context, Result};
use plot::{Figure, Panel};

use super::super::record::{Mode, Variant};
use super::super::setting::SamplingSetting;
use super::reconstruction::is_active;
use super::{Drawn, FigureInput, curves};

const WIDTH: f64 = 640.0;
/// The height of a bar, in units of the width of a coefficient.
const HEIGHT: usize = 3;

pub(super) fn draw(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let setting = input.setting()?;
    let sampling = setting
        .sampling
        .context("the experiment does not learn sampling weights")?;
    let mut panels = Vec::new();
    let mut count = 1;
    for variant in Variant::ALL {
        let record = input.results.record(&setting.name, variant, Mode::Faithful);
        let Some(theta) = record.and_then(curves::last) else {
            continue;
        };
        let bars = bars(theta, &sampling);
        count = bars.len();
        let active = bars.iter().filter(|bar| **bar > 0.5).count();
        let title = format!("{}: {active} coefficients", variant.label(setting));
        let image = bars.repeat(HEIGHT);
        panels.push(Panel::image(count, HEIGHT, &image).title(title));
    }
    let height = WIDTH * ratio(HEIGHT, count);
    let figure = Figure::new(1).panel_size(WIDTH, height.max(1.0));
    let figure = panels.into_iter().fold(figure, Figure::with);
    let what = format!(
        "The sampling pattern at the end of each variant: coefficients with θ > {} are white, \
         regardless of their weight. Frequency zero is in the middle.",
        sampling.lower
    );
    Ok(vec![input.drawn(&what, figure)])
}

/// Returns 1 for each measured coefficient and 0 for the others, with frequency zero moved from the
/// beginning to the middle.
fn bars(theta: &[f64], sampling: &SamplingSetting) -> Vec<f64> {
    let mut bars: Vec<f64> = theta
        .iter()
        .map(|theta| f64::from(u8::from(is_active(*theta, sampling))))
        .collect();
    let half = bars.len() / 2;
    bars.rotate_right(half);
    bars
}

const fn ratio(a: usize, b: usize) -> f64 {
    a as f64 / b as f64
}

#[cfg(test)]
mod tests {
    use super::super::super::setting::Setting;
    use super::*;

    #[test]
    fn frequency_zero_is_in_the_middle() {
        let settings = Setting::all().unwrap();
        let sampling = settings.iter().find_map(|s| s.sampling).unwrap();
        // As numpy's fftshift of (0, 1, 2, -2, -1) and of (0, 1, -2, -1).
        let odd = bars(&[0.5, 0.001, 0.001, 0.001, 0.3], &sampling);
        assert_eq!(odd, [0.0, 1.0, 1.0, 0.0, 0.0]);
        let even = bars(&[0.5, 0.0011, 0.001, 0.001], &sampling);
        assert_eq!(even, [0.0, 0.0, 1.0, 1.0]);
    }
}

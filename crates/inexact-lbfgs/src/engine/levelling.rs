//! Parameters in which the objective levels off.
//!
//! A model of the curvature along past steps is too careful where the objective levels off, as a
//! function of `$\log\xi$` does when `$\xi$` hardly matters any more: the step of a secant
//! divides an exponential by two, each time.
//!
//! Two steps in a row show it. The slope of the parameter keeps its sign and falls, but no faster
//! than that of an exponential; near a minimum it would fall ever faster. The curvature, which is
//! the change of the slope divided by that of the parameter, falls too, and we expect that it
//! falls by the same factor once more. The step of the model in this parameter is divided by this
//! factor. Pairs stay as they were measured, so that the other parameters keep their steps.
//!
//! Among many parameters, some only look as if the objective levelled off in them, because others
//! change at the same time. So most of the slope along the step must be in such parameters, and the
//! values at both ends of the last step must show that the curvature along it falls. An estimate of
//! the errors of values suffices for this: their intervals are typically thousands of times wider.

use super::Point;

/// The smallest expected factor of the curvature; a choice.
const LEAST: f64 = 0.3;
/// The rate at which the slope falls may grow by this factor; a choice. For an exponential, the
/// rate is constant.
const FASTER: f64 = 1.25;
/// The curvature at the end of the last step must be below this share of its mean; a choice.
const FALLS: f64 = 0.99;
/// The likely error of a value, as a share of the width of its interval; a choice. In learning runs
/// it was 0.025 at most, and typically 0.0002.
const LIKELY: f64 = 0.1;
/// The share of the slope along the step that must be in parameters in which the objective levels
/// off; a choice.
const MOST: f64 = 0.5;

/// An earlier incumbent.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Visited {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    /// The value of the smooth function, and the width of its interval.
    value: f64,
    #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
    width: f64,
}

impl<R> From<&Point<R>> for Visited {
    fn from(point: &Point<R>) -> Self {
        Self {
            theta: point.theta.clone(),
            gradient: point.gradient.clone(),
            value: point.smooth().0,
            width: point.smooth().1.width(),
        }
    }
}

/// Makes the step of the model longer in the parameters in which the objective levels off, within
/// their bounds. `trail` has the two incumbents before this one, and `slope` is the derivative
/// along the step.
pub(super) fn stretch<R>(
    trail: &[Visited],
    incumbent: &Point<R>,
    [lower, upper]: [&[f64]; 2],
    slope: f64,
    direction: &mut [f64],
) {
    let [first, second] = trail else {
        return;
    };
    if !curvature_falls(second, incumbent) {
        return;
    }
    let longer = |k: usize, step: f64| {
        let slopes = [first.gradient[k], second.gradient[k], incumbent.gradient[k]];
        let thetas = [first.theta[k], second.theta[k], incumbent.theta[k]];
        let goes_on = step * (thetas[2] - thetas[1]) > 0.0 && step * slopes[2] < 0.0;
        let factor = expected_factor(slopes, thetas).filter(|_| goes_on)?;
        let longer = (step / factor).max(lower[k] - thetas[2]);
        Some((longer.min(upper[k] - thetas[2]), step * slopes[2]))
    };
    let levelling: Vec<(usize, (f64, f64))> = (direction.iter().enumerate())
        .filter_map(|(k, step)| Some((k, longer(k, *step)?)))
        .collect();
    let share: f64 = levelling.iter().map(|(_, (_, slope))| slope).sum();
    if share <= MOST * slope {
        for (k, (longer, _)) in levelling {
            direction[k] = longer;
        }
    }
}

/// Whether the curvature along the last step falls, also if the values have their likely errors.
/// The cubic through the values `$\varphi_0$`, `$\varphi_1$` and slopes `$\varphi_0'$`,
/// `$\varphi_1'$` at both ends tells: its second derivative at the second end,
/// `$2\varphi_0' + 4\varphi_1' - 6(\varphi_1 - \varphi_0)$`, is smaller than the mean
/// `$\varphi_1' - \varphi_0'$`. For a quadratic function they are equal.
fn curvature_falls<R>(start: &Visited, end: &Point<R>) -> bool {
    let along = |gradient: &[f64]| -> f64 {
        let steps = end
            .theta
            .iter()
            .zip(&start.theta)
            .map(|(new, old)| new - old);
        steps.zip(gradient).map(|(step, slope)| step * slope).sum()
    };
    let (first, last) = (along(&start.gradient), along(&end.gradient));
    let (value, interval) = end.smooth();
    let rounding = f64::EPSILON * (start.value.abs() + value.abs());
    let error = 6.0 * (LIKELY * (start.width + interval.width()) + rounding);
    let at_end = 2.0 * first + 4.0 * last - 6.0 * (value - start.value);
    at_end + error <= FALLS * (last - first)
}

/// The factor by which the curvature in a parameter is expected to fall, given its slopes and
/// values at three points; `None` if the objective does not level off.
fn expected_factor(slopes: [f64; 3], thetas: [f64; 3]) -> Option<f64> {
    let rates =
        [0, 1].map(|i| (slopes[i] / slopes[i + 1]).ln() / (thetas[i + 1] - thetas[i]).abs());
    let curvatures = [0, 1].map(|i| (slopes[i + 1] - slopes[i]) / (thetas[i + 1] - thetas[i]));
    // slopes of different signs make a rate NaN
    let falls = 0.0 < rates[0] && 0.0 < rates[1] && rates[1] <= FASTER * rates[0];
    let levels = 0.0 < curvatures[1] && curvatures[1] < curvatures[0];
    (falls && levels).then(|| (curvatures[1] / curvatures[0]).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Interval};

    /// The values of a cubic whose curvature falls from 4 to 2, with intervals.
    #[test]
    fn curvature_falls_if_the_values_are_known_well_enough() {
        // The second derivative at the end is 2, and the mean is 3: room for errors of
        // 0.99 * 3 - 2 = 0.97, which is six times that of the difference of the values.
        let falls = |width: f64| {
            let start = Visited {
                theta: vec![0.0],
                gradient: vec![-5.0],
                value: 0.0,
                width,
            };
            let value = -5.0 + 4.0 / 2.0 - 2.0 / 6.0;
            let answer = Answer {
                value,
                interval: Interval::new(value - 0.5 * width, value + 0.5 * width),
                work: 1,
                gradient: vec![-2.0],
                gradient_error: 0.0,
                resume: (),
            };
            curvature_falls(&start, &Point::new(1, vec![1.0], answer, 0.0))
        };
        let widest = 0.97 / (6.0 * 2.0 * LIKELY);
        assert!(falls(0.0) && falls(0.99 * widest) && !falls(1.01 * widest));
    }

    #[test]
    fn factors_of_exponentials_and_of_other_functions() {
        let thetas = [0.0, -1.0, -2.0];
        let at = |slope: fn(f64) -> f64| expected_factor(thetas.map(slope), thetas);
        // the slope of an exponential, whose curvatures fall by the factor 1/e
        let expected = (-1.0_f64).exp();
        assert!(at(f64::exp).is_some_and(|factor| (factor - expected).abs() < 1e-14));
        assert!(at(|t| (5.0 * t).exp()).is_some_and(|factor| (factor - LEAST).abs() < 1e-14));
        // Near a minimum, the slope falls ever faster. Other slopes grow or change their sign.
        let others: [fn(f64) -> f64; 7] = [
            |t| t + 5.0,
            |t| (t + 2.5).powi(2),
            |t| 10.0 - t * t,
            |t| -t.exp(),
            |t| t + 1.5,
            |_| 1.0,
            |_| f64::NAN,
        ];
        for slope in others {
            assert_eq!(at(slope), None);
        }
        assert_eq!(expected_factor([3.0, 2.0, 1.5], [1.0; 3]), None);
    }
}

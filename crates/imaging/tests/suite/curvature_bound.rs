//! The sharper bound for reconstructions from Fourier samples holds everywhere, and is tight where
//! few frequencies are sampled.

use approx::assert_relative_eq;
use imaging::{Fourier, FourierSampling, Grid, LinearOperator, TvParameters};
use lowlevel::{
    ErrorBound, Method, NewtonPoint, NewtonSteps, Solver, State, Stop, StronglyConvex, norm,
};

/// A generator of pseudo-random numbers between -1 and 1.
struct PseudoRandom(u64);

impl PseudoRandom {
    fn next(&mut self) -> f64 {
        let state = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = state.wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).expect("31 bits")) / f64::from(1_u32 << 30) - 1.0
    }

    fn take(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.next()).collect()
    }
}

fn gradient_of(objective: &FourierSampling<'_>, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    objective.gradient(x, &mut gradient, &mut objective.scratch());
    gradient
}

fn gradient_bound(objective: &FourierSampling<'_>, x: &[f64]) -> f64 {
    let size = norm(&gradient_of(objective, x));
    (size + objective.gradient_rounding(norm(x), size)) / objective.curvature().strong_convexity()
}

fn sharper_bound(objective: &FourierSampling<'_>, x: &[f64]) -> f64 {
    let gradient = gradient_of(objective, x);
    let at = NewtonPoint {
        x,
        gradient: &gradient,
        gradient_norm: norm(&gradient),
        dual: &vec![0.0; x.len()],
        target_norm: 0.0,
    };
    let (bound, cost) = objective
        .sharper_bound(&at, &mut objective.scratch())
        .expect("the gradient is finite");
    assert!(cost > 1.0);
    bound.value()
}

/// Returns the minimiser as accurately as rounding allows, and a bound on its error. It is computed
/// by Newton's method with full steps, which are halved if they overshoot.
fn solve(objective: &FourierSampling<'_>) -> (Vec<f64>, f64) {
    let mut scratch = objective.scratch();
    let (mut x, mut dual) = (vec![0.0; objective.dim()], vec![0.0; objective.dim()]);
    let (mut step, mut dual_step) = (x.clone(), x.clone());
    for _ in 0..60 {
        let gradient = gradient_of(objective, &x);
        let at = NewtonPoint {
            x: &x,
            gradient: &gradient,
            gradient_norm: norm(&gradient),
            dual: &dual,
            target_norm: 0.0,
        };
        if at.gradient_norm == 0.0 {
            break;
        }
        objective.step(&at, &mut step, &mut dual_step, &mut scratch);
        let slope = dot(&gradient, &step);
        let mut fraction = 1.0;
        let moved = |fraction: f64| -> Vec<f64> {
            x.iter()
                .zip(&step)
                .map(|(x, step)| x + fraction * step)
                .collect()
        };
        while fraction > 1e-3
            && dot(&gradient_of(objective, &moved(fraction)), &step) > -0.9 * slope
        {
            fraction *= 0.5;
        }
        x = moved(fraction);
        for (dual, step) in dual.iter_mut().zip(&dual_step) {
            *dual += fraction * step;
        }
    }
    let error = gradient_bound(objective, &x);
    (x, error)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// The noisy Fourier samples of a box function.
fn noisy_samples(fourier: &Fourier, noise: f64, random: &mut PseudoRandom) -> Vec<f64> {
    let len = fourier.domain().num_samples();
    let inside = |j: usize| 3 * j >= len && 3 * j <= 2 * len;
    let truth = (0..len).flat_map(|j| [if inside(j) { 1.0 } else { 0.0 }, 0.0]);
    let truth: Vec<f64> = truth.collect();
    let mut data = vec![0.0; 2 * len];
    fourier.apply(&truth, &mut data, &mut fourier.scratch());
    for value in &mut data {
        *value += noise * random.next();
    }
    data
}

#[test]
fn is_never_violated() {
    let mut random = PseudoRandom(1);
    let (mut checked, mut sharper) = (0, 0);
    for len in [1, 2, 3, 5, 9, 10, 16, 31, 64] {
        let fourier = Fourier::new(Grid::line(len).complex()).expect("not empty");
        for trial in 0..14_u32 {
            let tiny = 10_f64.powf(-4.0 - 4.0 * random.next().abs());
            let s: Vec<f64> = (0..len)
                .map(|_| match random.next() {
                    draw if draw < -0.2 => tiny,
                    draw => 10_f64.powf(2.0 * draw - 1.0),
                })
                .collect();
            let parameters = TvParameters {
                alpha: if trial == 0 {
                    0.0
                } else {
                    10_f64.powf(2.0 * random.next() - 1.0)
                },
                nu: 10_f64.powf(1.5 * random.next() - 1.5),
                xi: if trial % 2 == 0 { 0.0 } else { 1e-4 },
            };
            let data = noisy_samples(&fourier, 0.1, &mut random);
            let objective = FourierSampling::new(&fourier, &data, &s, parameters).expect("fits");
            let (minimiser, known) = solve(&objective);
            for exponent in [0, -1, -2, -4, -6, -9] {
                let mut x = minimiser.clone();
                for (x, change) in x.iter_mut().zip(random.take(2 * len)) {
                    *x += 10_f64.powi(exponent) * change;
                }
                // After some steps of gradient descent, the error is in the weakly sampled
                // frequencies.
                for _ in 0..(trial % 3) * 20 {
                    let gradient = gradient_of(&objective, &x);
                    let step = 1.0 / objective.curvature().lipschitz();
                    for (x, gradient) in x.iter_mut().zip(gradient) {
                        *x -= step * gradient;
                    }
                }
                let error = distance(&x, &minimiser);
                let (bound, plain) = (
                    sharper_bound(&objective, &x),
                    gradient_bound(&objective, &x),
                );
                assert!(
                    error <= bound + known,
                    "{error:e} > {bound:e} + {known:e}: {len} {trial} {parameters:?}"
                );
                assert!(bound <= plain * (1.0 + 1e-12));
                if known < 1e-3 * error {
                    checked += 1;
                    sharper += usize::from(bound < 0.8 * plain);
                }
            }
        }
    }
    assert!(checked > 300 && sharper > 60, "{checked} {sharper}");
}

#[test]
fn is_tight_where_few_frequencies_are_sampled() {
    let fourier = Fourier::new(Grid::line(64).complex()).expect("not empty");
    let mut random = PseudoRandom(5);
    // Like a learned pattern: many frequencies are hardly sampled, all of the lowest are, and the
    // rest are scattered.
    let s: Vec<f64> = (0..64_usize)
        .map(|k| {
            let low = k.min(64 - k) < 8;
            if low || random.next() > 0.4 {
                0.07 + 0.04 * random.next()
            } else {
                0.001
            }
        })
        .collect();
    let parameters = TvParameters {
        alpha: 0.01,
        nu: 0.01,
        xi: 1e-4,
    };
    let data = noisy_samples(&fourier, 0.05, &mut random);
    let objective = FourierSampling::new(&fourier, &data, &s, parameters).expect("fits");
    let (minimiser, known) = solve(&objective);
    let mut state = State::new(vec![0.0; 128]);
    for target in [2.0, 1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6] {
        let stop = Stop::accuracy(ErrorBound::new(target).expect("positive"));
        let solver = Solver {
            method: Method::FISTA,
            ..Solver::default()
        };
        let solved = solver.minimize(&objective, stop, &mut state, &mut objective.scratch());
        assert!(solved.is_ok());
        let error = distance(state.point(), &minimiser);
        assert!(known < 0.01 * error, "{known:e} {error:e}");
        let ratio = sharper_bound(&objective, state.point()) / error;
        let plain = gradient_bound(&objective, state.point()) / error;
        let most = if error < 1e-2 { 1.6 } else { 5.0 };
        assert!((0.99..=most).contains(&ratio), "{ratio} at {error:e}");
        assert!(plain > 15.0, "{plain}: the gradient would do");
    }
}

#[test]
fn two_samples_by_hand() {
    // At the constant c the only difference inside is zero, so w = alpha/nu = 1, and removing the
    // cyclic one leaves the eigenvalues s_0 + xi and s_1 + xi + 2 w. The gradient of a nearly flat
    // pair points along (1, -1).
    let fourier = Fourier::new(Grid::line(2).complex()).expect("not empty");
    let parameters = TvParameters {
        alpha: 0.5,
        nu: 0.5,
        xi: 0.01,
    };
    let objective =
        FourierSampling::new(&fourier, &[0.0; 4], &[3.0, 0.0], parameters).expect("fits");
    let (minimiser, _) = solve(&objective);
    assert!(norm(&minimiser) < 1e-12);
    let x = [1e-6, 0.0, -1e-6, 0.0];
    // The true Hessian has e_0 e_0^T besides: g = (0.01 + 1 * 3, -0.01 - 2) * 1e-6.
    let gradient = gradient_of(&objective, &x);
    assert_relative_eq!(gradient[0], 3.01e-6, max_relative = 1e-6);
    assert_relative_eq!(gradient[2], -2.01e-6, max_relative = 1e-6);
    // g = 0.5 (1, 1) + 2.51 (1, -1), of squared lengths 2: with lambda = 0.7525 and lambda' = 31/32
    // lambda
    let lambda = 0.5 * 3.01 / 2.0;
    let energy = 2.0 * 0.5_f64.powi(2) / (3.01 - lambda) + 2.0 * 2.51_f64.powi(2) / (2.01 - lambda);
    let expected = 1e-6 * (energy / (4.0 * lambda * 31.0 / 32.0)).sqrt();
    let bound = sharper_bound(&objective, &x);
    assert_relative_eq!(bound, expected, max_relative = 1e-4);
    assert!(gradient_bound(&objective, &x) > 1e-4);
}

#[test]
fn equals_the_gradient_bound_where_it_cannot_improve_it() {
    let fourier = Fourier::new(Grid::line(1).complex()).expect("not empty");
    let parameters = TvParameters {
        alpha: 0.2,
        nu: 0.1,
        xi: 0.5,
    };
    let objective = FourierSampling::new(&fourier, &[1.0, 2.0], &[0.25], parameters).expect("fits");
    let x = [3.0, -1.0];
    assert_relative_eq!(
        sharper_bound(&objective, &x),
        gradient_bound(&objective, &x)
    );
}

#[test]
fn two_samples_in_larger_balls() {
    // The same as above, but the ball is not small compared with nu, so the mean curvature matters.
    let fourier = Fourier::new(Grid::line(2).complex()).expect("not empty");
    let (alpha, nu, xi) = (0.5, 0.5, 0.01);
    let parameters = TvParameters { alpha, nu, xi };
    let objective =
        FourierSampling::new(&fourier, &[0.0; 4], &[3.0, 0.2], parameters).expect("fits");
    let x = [0.06, 0.0, -0.02, 0.0];
    let gradient = gradient_of(&objective, &x);
    let along = [gradient[0] + gradient[2], gradient[0] - gradient[2]].map(|sum| 0.5 * sum * sum);
    let error = |radius: f64, guess: Option<f64>| {
        let slope = |modulus: f64| alpha * modulus / modulus.hypot(nu);
        let change = 2_f64.sqrt() * radius.max(1e-5);
        let w = (slope(0.08 + change) - slope(0.08)) / change;
        let with = |lambda: f64| {
            let energy = along[0] / (3.01 - lambda) + along[1] / (0.21 + 2.0 * w - lambda);
            let possible = lambda < 0.21 + 2.0 * w;
            let bound = (energy / (4.0 * lambda * 31.0 / 32.0)).sqrt();
            (if possible { bound } else { f64::INFINITY }, lambda)
        };
        let largest = 0.5 * 3.01_f64.min(0.21 + 4.0 * w);
        guess.map_or_else(
            || {
                let shifts = (0..9).map(|halvings| with(largest * 0.5_f64.powi(halvings)));
                shifts.fold((f64::INFINITY, 0.0), |a, b| if b.0 < a.0 { b } else { a })
            },
            |lambda| with(lambda.min(largest)),
        )
    };
    let (first, shift) = error(0.0, None);
    let radius = 1.25 * first;
    assert!(radius > 0.05);
    let (expected, _) = error(radius, Some(shift));
    assert!(expected < radius, "the first ball contains the minimiser");
    assert!(expected > 1.05 * first, "the ball matters");
    assert_relative_eq!(sharper_bound(&objective, &x), expected, max_relative = 1e-6);
}

#[test]
fn holds_where_the_minimiser_is_far_away() {
    // At zero the curvature of the total variation is large, but the data term pulls with twice the
    // largest force of the total variation, so the minimiser is far away.
    let fourier = Fourier::new(Grid::line(2).complex()).expect("not empty");
    let parameters = TvParameters {
        alpha: 0.5,
        nu: 0.5,
        xi: 0.0,
    };
    let data = [0.0, 0.0, 150.0, 0.0];
    let objective = FourierSampling::new(&fourier, &data, &[3.0, 0.01], parameters).expect("fits");
    let (minimiser, known) = solve(&objective);
    let error = norm(&minimiser);
    assert!(error > 20.0 && known < 1e-6);
    assert!(sharper_bound(&objective, &[0.0; 4]) >= error);
}

#[test]
fn includes_the_rounding_of_the_gradient() {
    let fourier = Fourier::new(Grid::line(16).complex()).expect("not empty");
    let data = noisy_samples(&fourier, 0.1, &mut PseudoRandom(3));
    let parameters = TvParameters {
        alpha: 0.1,
        nu: 0.1,
        xi: 1e-3,
    };
    let objective = FourierSampling::new(&fourier, &data, &[0.7; 16], parameters).expect("fits");
    let (minimiser, _) = solve(&objective);
    let size = norm(&gradient_of(&objective, &minimiser));
    let rounding = objective.gradient_rounding(norm(&minimiser), size);
    assert!(size < 0.1 * rounding, "{size:e} {rounding:e}");
    let bound = sharper_bound(&objective, &minimiser);
    assert!(bound >= rounding / objective.curvature().lipschitz());
}

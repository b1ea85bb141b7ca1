//! Fused update and gradient of 2D denoising, with the differences of
//! [`Differences::IMAGE_OF_PAPER`](crate::Differences): one sweep over memory per iteration.
//!
//! Square roots and divisions take longest, and whatever waits for them fills the machine's queues. So each pass over the columns
//! works on four rows that do not depend on each other: it moves row `$k$`, takes the squared differences of row `$k - 1$`, the inverse
//! moduli of row `$k - 2$`, and the gradient of row `$k - 4$`.

use lowlevel::{Update, norm_squared};
use pulp::{Scalar, Simd, WithSimd};

use super::TvParameters;
use super::motion::{Accelerated, Descent, HeavyBall, Motion, Rest};
use super::simd::Samples;

/// Overwrites `gradient` with `$(1 + \xi)x - y + \alpha\widehat\nabla^T(\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2})$`; returns its
/// squared norm.
#[derive(Debug)]
pub(super) struct ImageGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) cols: usize,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    pub(super) moduli: &'a mut Moduli,
}

/// For the last four rows `$\|\widehat\nabla x\|^2 + \nu^2$`, then `$\alpha/\sqrt{\|\widehat\nabla x\|^2 + \nu^2}$`: they stay in the fastest cache.
#[derive(Clone, Debug)]
pub(super) struct Moduli {
    rows: [Vec<f64>; 4],
}

impl Moduli {
    pub(super) fn new(cols: usize) -> Self {
        Self {
            rows: std::array::from_fn(|_| vec![0.0; cols]),
        }
    }
}

impl WithSimd for ImageGradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            x,
            gradient,
            moduli,
        } = self;
        assert_eq!(
            moduli.rows[0].len(),
            cols,
            "the scratch belongs to another grid"
        );
        let sweep = Sweep {
            parameters,
            cols,
            data,
            moduli,
        };
        let none: &mut [f64] = &mut [];
        match x {
            Samples::Still(x) => sweep.run(simd, Rest, Points::Still(x), none, gradient),
            Samples::Moving { point, update } => match update {
                Update::Descent { step } => sweep.run(
                    simd,
                    Descent { step },
                    Points::Moving(point),
                    none,
                    gradient,
                ),
                Update::Accelerated {
                    step,
                    extrapolation,
                    iterate,
                } => {
                    let motion = Accelerated {
                        step,
                        extrapolation,
                    };
                    sweep.run(simd, motion, Points::Moving(point), iterate, gradient)
                }
                Update::HeavyBall {
                    step,
                    momentum,
                    previous,
                } => {
                    let motion = HeavyBall { step, momentum };
                    sweep.run(simd, motion, Points::Moving(point), previous, gradient)
                }
                mut other => {
                    other.apply(0..point.len(), point, gradient);
                    sweep.run(simd, Rest, Points::Still(point), none, gradient)
                }
            },
        }
    }
}

enum Points<'a> {
    Still(&'a [f64]),
    Moving(&'a mut [f64]),
}

impl Points<'_> {
    /// The samples before `at`, and those from there on if they may be moved.
    #[inline(always)]
    fn split(&mut self, at: usize) -> (&[f64], &mut [f64]) {
        match self {
            Self::Still(x) => (x, &mut []),
            Self::Moving(x) => {
                let (before, after) = x.split_at_mut(at);
                (before, after)
            }
        }
    }
}

struct Sweep<'a> {
    parameters: TvParameters,
    cols: usize,
    data: &'a [f64],
    moduli: &'a mut Moduli,
}

impl Sweep<'_> {
    #[inline(always)]
    fn run<S: Simd, M: Motion>(
        self,
        simd: S,
        motion: M,
        mut x: Points<'_>,
        old: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            moduli,
        } = self;
        let rows = data.len() / cols;
        let mut sum = 0.0;
        for k in 0..rows + 4 {
            let (known, moving) = x.split((k * cols).min(data.len()));
            let row = |r: usize| &known[r * cols..(r + 1) * cols];
            let (done, waiting) = gradient.split_at_mut((k * cols).min(data.len()));
            let [squares, inverse, here_below, here] = newest_first(&mut moduli.rows, k);
            let mover = (M::MOVES && k < rows).then(|| Mover {
                motion,
                point: &mut moving[..cols],
                gradient: &waiting[..cols],
                old: if M::REMEMBERS {
                    &mut old[k * cols..(k + 1) * cols]
                } else {
                    &mut []
                },
            });
            let squarer = (1..=rows).contains(&k).then(|| Squarer {
                parameters,
                x: row(k - 1),
                above: row((k - 1).saturating_sub(1)), // nothing is above the first row: no difference
                squares,
            });
            let inverter = (2..=rows + 1).contains(&k).then(|| Inverter {
                parameters,
                moduli: inverse,
            });
            let balancer = (k >= 4).then(|| {
                let r = k - 4;
                let is_last = r + 1 == rows;
                Balancer {
                    parameters,
                    x: row(r),
                    above: row(r.saturating_sub(1)),
                    below: if is_last { row(r) } else { row(r + 1) }, // nothing flows out of the last row
                    data: &data[r * cols..(r + 1) * cols],
                    inverse: here,
                    inverse_below: if is_last { here } else { here_below },
                    gradient: &mut done[r * cols..(r + 1) * cols],
                }
            });
            pass(simd, cols, mover, squarer, inverter, balancer);
            if k >= 4 {
                sum += norm_squared(&done[(k - 4) * cols..(k - 3) * cols]);
            }
        }
        sum
    }
}

/// The moduli of rows `$k - 1$` to `$k - 4$`.
#[inline(always)]
fn newest_first(rows: &mut [Vec<f64>; 4], k: usize) -> [&mut Vec<f64>; 4] {
    let [a, b, c, d] = rows;
    match k % 4 {
        0 => [d, c, b, a],
        1 => [a, d, c, b],
        2 => [b, a, d, c],
        _ => [c, b, a, d],
    }
}

/// One pass over the columns, with what there is to do.
#[inline(always)]
fn pass<S: Simd, M: Motion>(
    simd: S,
    cols: usize,
    mut mover: Option<Mover<'_, M>>,
    mut squarer: Option<Squarer<'_>>,
    mut inverter: Option<Inverter<'_>>,
    mut balancer: Option<Balancer<'_>>,
) {
    let count = cols.saturating_sub(2) / S::F64_LANES;
    if let (Some(squarer), Some(inverter), Some(balancer)) =
        (&mut squarer, &mut inverter, &mut balancer)
    {
        let mut squares = squarer.vectors::<S>(count);
        let mut inverses = inverter.vectors::<S>(count);
        let mut balances = balancer.vectors::<S>(count);
        if let Some(mover) = &mut mover {
            let mut moves = mover.vectors::<S>(count);
            for i in 0..count {
                inverses.at(simd, i);
                moves.at(simd, i);
                squares.at(simd, i);
                balances.at(simd, i);
            }
        } else {
            for i in 0..count {
                inverses.at(simd, i);
                squares.at(simd, i);
                balances.at(simd, i);
            }
        }
    } else {
        if let Some(mover) = &mut mover {
            let mut vectors = mover.vectors::<S>(count);
            for i in 0..count {
                vectors.at(simd, i);
            }
        }
        if let Some(squarer) = &mut squarer {
            let mut vectors = squarer.vectors::<S>(count);
            for i in 0..count {
                vectors.at(simd, i);
            }
        }
        if let Some(inverter) = &mut inverter {
            let mut vectors = inverter.vectors::<S>(count);
            for i in 0..count {
                vectors.at(simd, i);
            }
        }
        if let Some(balancer) = &mut balancer {
            let mut vectors = balancer.vectors::<S>(count);
            for i in 0..count {
                vectors.at(simd, i);
            }
        }
    }
    let rest = count * S::F64_LANES;
    if let Some(mover) = &mut mover {
        mover.rest(rest);
    }
    if let Some(squarer) = &mut squarer {
        squarer.rest(1 + rest);
    }
    if let Some(inverter) = &mut inverter {
        inverter.rest(simd, rest);
    }
    if let Some(balancer) = &mut balancer {
        balancer.rest(1 + rest);
    }
}

/// The first `count` vectors of `values`.
#[inline(always)]
fn vectors<S: Simd>(values: &[f64], count: usize) -> &[S::f64s] {
    &S::as_simd_f64s(values).0[..count]
}

#[inline(always)]
fn vectors_mut<S: Simd>(values: &mut [f64], count: usize) -> &mut [S::f64s] {
    &mut S::as_mut_simd_f64s(values).0[..count]
}

/// Moves a row.
struct Mover<'a, M> {
    motion: M,
    point: &'a mut [f64],
    gradient: &'a [f64],
    old: &'a mut [f64],
}

struct Moves<'a, S: Simd, M> {
    motion: M,
    point: &'a mut [S::f64s],
    gradient: &'a [S::f64s],
    old: &'a mut [S::f64s],
}

impl<M: Motion> Mover<'_, M> {
    #[inline(always)]
    fn vectors<S: Simd>(&mut self, count: usize) -> Moves<'_, S, M> {
        Moves {
            motion: self.motion,
            point: vectors_mut::<S>(self.point, count),
            gradient: vectors::<S>(self.gradient, count),
            old: vectors_mut::<S>(self.old, if M::REMEMBERS { count } else { 0 }),
        }
    }

    #[inline(always)]
    fn rest(&mut self, from: usize) {
        let count = self.point.len() - from;
        let mut moves: Moves<'_, Scalar, M> = Moves {
            motion: self.motion,
            point: &mut self.point[from..],
            gradient: &self.gradient[from..],
            old: if M::REMEMBERS {
                &mut self.old[from..]
            } else {
                &mut []
            },
        };
        for i in 0..count {
            moves.at(Scalar::new(), i);
        }
    }
}

impl<S: Simd, M: Motion> Moves<'_, S, M> {
    #[inline(always)]
    fn at(&mut self, simd: S, i: usize) {
        let old = if M::REMEMBERS {
            self.old[i]
        } else {
            simd.splat_f64s(0.0)
        };
        let (point, old) = self
            .motion
            .moved(simd, self.point[i], self.gradient[i], old);
        self.point[i] = point;
        if M::REMEMBERS {
            self.old[i] = old;
        }
    }
}

/// Takes the squared differences of a row.
struct Squarer<'a> {
    parameters: TvParameters,
    x: &'a [f64],
    above: &'a [f64],
    squares: &'a mut [f64],
}

/// From the second column on.
struct Squares<'a, S: Simd> {
    nu_squared: f64,
    x: &'a [S::f64s],
    left: &'a [S::f64s],
    above: &'a [S::f64s],
    squares: &'a mut [S::f64s],
}

impl Squarer<'_> {
    #[inline(always)]
    fn vectors<S: Simd>(&mut self, count: usize) -> Squares<'_, S> {
        let from = 1.min(self.x.len());
        Squares {
            nu_squared: self.parameters.nu * self.parameters.nu,
            x: vectors::<S>(&self.x[from..], count),
            left: vectors::<S>(self.x, count),
            above: vectors::<S>(&self.above[from..], count),
            squares: vectors_mut::<S>(&mut self.squares[from..], count),
        }
    }

    /// The first column, which has nothing on its left, and those `from` on.
    #[inline(always)]
    fn rest(&mut self, from: usize) {
        let nu_squared = self.parameters.nu * self.parameters.nu;
        for col in (0..1).chain(from..self.x.len()) {
            let dx = self.x[col] - self.x[col.saturating_sub(1)];
            let dy = self.x[col] - self.above[col];
            self.squares[col] = dx * dx + dy * dy + nu_squared;
        }
    }
}

impl<S: Simd> Squares<'_, S> {
    #[inline(always)]
    fn at(&mut self, simd: S, i: usize) {
        let dx = simd.sub_f64s(self.x[i], self.left[i]);
        let dy = simd.sub_f64s(self.x[i], self.above[i]);
        let sum = simd.add_f64s(simd.mul_f64s(dx, dx), simd.mul_f64s(dy, dy));
        self.squares[i] = simd.add_f64s(sum, simd.splat_f64s(self.nu_squared));
    }
}

/// Turns squares into inverse moduli.
struct Inverter<'a> {
    parameters: TvParameters,
    moduli: &'a mut [f64],
}

struct Inverses<'a, S: Simd> {
    alpha: f64,
    moduli: &'a mut [S::f64s],
}

impl Inverter<'_> {
    #[inline(always)]
    fn vectors<S: Simd>(&mut self, count: usize) -> Inverses<'_, S> {
        Inverses {
            alpha: self.parameters.alpha,
            moduli: vectors_mut::<S>(self.moduli, count),
        }
    }

    #[inline(always)]
    fn rest<S: Simd>(&mut self, simd: S, from: usize) {
        let alpha = self.parameters.alpha;
        let (moduli, rest) = S::as_mut_simd_f64s(&mut self.moduli[from..]);
        let count = moduli.len();
        let mut inverses = Inverses::<'_, S> { alpha, moduli };
        for i in 0..count {
            inverses.at(simd, i);
        }
        for modulus in rest {
            *modulus = alpha / modulus.sqrt();
        }
    }
}

impl<S: Simd> Inverses<'_, S> {
    #[inline(always)]
    fn at(&mut self, simd: S, i: usize) {
        let modulus = simd.sqrt_f64s(self.moduli[i]);
        self.moduli[i] = simd.div_f64s(simd.splat_f64s(self.alpha), modulus);
    }
}

/// The gradient of a row: the misfit, plus what flows in, minus what flows out.
struct Balancer<'a> {
    parameters: TvParameters,
    x: &'a [f64],
    above: &'a [f64],
    below: &'a [f64],
    data: &'a [f64],
    inverse: &'a [f64],
    inverse_below: &'a [f64],
    gradient: &'a mut [f64],
}

/// From the second column on.
struct Balances<'a, S: Simd> {
    scale: f64,
    left: &'a [S::f64s],
    x: &'a [S::f64s],
    right: &'a [S::f64s],
    above: &'a [S::f64s],
    below: &'a [S::f64s],
    data: &'a [S::f64s],
    inverse: &'a [S::f64s],
    inverse_right: &'a [S::f64s],
    inverse_below: &'a [S::f64s],
    gradient: &'a mut [S::f64s],
}

impl Balancer<'_> {
    #[inline(always)]
    fn vectors<S: Simd>(&mut self, count: usize) -> Balances<'_, S> {
        let from = 1.min(self.x.len());
        let next = 2.min(self.x.len());
        Balances {
            scale: 1.0 + self.parameters.xi,
            left: vectors::<S>(self.x, count),
            x: vectors::<S>(&self.x[from..], count),
            right: vectors::<S>(&self.x[next..], count),
            above: vectors::<S>(&self.above[from..], count),
            below: vectors::<S>(&self.below[from..], count),
            data: vectors::<S>(&self.data[from..], count),
            inverse: vectors::<S>(&self.inverse[from..], count),
            inverse_right: vectors::<S>(&self.inverse[next..], count),
            inverse_below: vectors::<S>(&self.inverse_below[from..], count),
            gradient: vectors_mut::<S>(&mut self.gradient[from..], count),
        }
    }

    /// The first column, and those `from` on; nothing flows out of the last.
    #[inline(always)]
    fn rest(&mut self, from: usize) {
        let (x, inverse) = (self.x, self.inverse);
        for col in (0..1).chain(from..x.len()) {
            let left = (x[col] - x[col.saturating_sub(1)]) * inverse[col];
            let right = match x.get(col + 1) {
                Some(next) => (next - x[col]) * inverse[col + 1],
                None => 0.0,
            };
            let down = (x[col] - self.above[col]) * inverse[col];
            let below = (self.below[col] - x[col]) * self.inverse_below[col];
            let misfit = (1.0 + self.parameters.xi) * x[col] - self.data[col];
            self.gradient[col] = misfit + ((left - right) + (down - below));
        }
    }
}

impl<S: Simd> Balances<'_, S> {
    #[inline(always)]
    fn at(&mut self, simd: S, i: usize) {
        let (x, inverse) = (self.x[i], self.inverse[i]);
        let left = simd.mul_f64s(simd.sub_f64s(x, self.left[i]), inverse);
        let right = simd.mul_f64s(simd.sub_f64s(self.right[i], x), self.inverse_right[i]);
        let down = simd.mul_f64s(simd.sub_f64s(x, self.above[i]), inverse);
        let below = simd.mul_f64s(simd.sub_f64s(self.below[i], x), self.inverse_below[i]);
        let flow = simd.add_f64s(simd.sub_f64s(left, right), simd.sub_f64s(down, below));
        let scaled = simd.mul_f64s(simd.splat_f64s(self.scale), x);
        let misfit = simd.sub_f64s(scaled, self.data[i]);
        self.gradient[i] = simd.add_f64s(misfit, flow);
    }
}

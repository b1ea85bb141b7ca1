//! The smoothed total variation of volumes: gradient and Hessian with differences along three axes.
//! The formulas are those of pictures, in [`tv`](super::tv) and [`tv_hessian`](super::tv_hessian).

use super::strips::{STRIP, Strip, StripKernel, sweep};
use super::tv::SmoothedTv;
use super::tv_hessian::{Linearised, LinearisedMut};

impl SmoothedTv {
    /// Adds `weight` times the gradient at `x` to `gradient`.
    pub(super) fn add_volume_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        let nu_squared = self.nu * self.nu;
        sweep(
            self,
            AddGradient {
                weight,
                nu_squared,
                x,
                gradient,
            },
        );
    }

    /// Overwrites `to` with the Hessian at `x`.
    pub(super) fn linearise_volume(&self, x: &[f64], to: LinearisedMut<'_>) {
        let nu_squared = self.nu * self.nu;
        sweep(self, Linearise { nu_squared, x, to });
    }

    /// Adds `weight` times the product of the Hessian with `v` to `out`.
    pub(super) fn add_volume_product(
        &self,
        weight: f64,
        at: Linearised<'_>,
        v: &[f64],
        out: &mut [f64],
    ) {
        sweep(self, AddProduct { weight, at, v, out });
    }

    /// Adds `weight` times the diagonal of the Hessian to `diagonal`.
    pub(super) fn add_volume_diagonal(
        &self,
        weight: f64,
        at: Linearised<'_>,
        diagonal: &mut [f64],
    ) {
        sweep(
            self,
            AddDiagonal {
                weight,
                at,
                diagonal,
            },
        );
    }
}

struct AddGradient<'a> {
    weight: f64,
    nu_squared: f64,
    x: &'a [f64],
    gradient: &'a mut [f64],
}

impl StripKernel for AddGradient<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down, mut deep) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let (across, down, deep) = (&mut across[..len], &mut down[..len], &mut deep[..len]);
        strip.subtract_all(self.x, [across, down, deep]);
        let samples = (across.as_chunks_mut::<P>().0.iter_mut())
            .zip(down.as_chunks_mut::<P>().0)
            .zip(deep.as_chunks_mut::<P>().0);
        for ((across, down), deep) in samples {
            let mut squares = self.nu_squared;
            for part in 0..P {
                squares +=
                    across[part] * across[part] + down[part] * down[part] + deep[part] * deep[part];
            }
            let scale = self.weight / squares.sqrt();
            for part in 0..P {
                across[part] *= scale;
                down[part] *= scale;
                deep[part] *= scale;
            }
        }
        strip.add_all(self.gradient, [across, down, deep]);
    }
}

struct Linearise<'a> {
    nu_squared: f64,
    x: &'a [f64],
    to: LinearisedMut<'a>,
}

impl StripKernel for Linearise<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let (first, len) = (P * strip.first, P * strip.count);
        let across = &mut self.to.across[first..first + len];
        let down = &mut self.to.down[first..first + len];
        let deep = &mut self.to.deep[first..first + len];
        strip.subtract_all(self.x, [across, down, deep]);
        let inverse = &mut self.to.inverse[strip.first..strip.first + strip.count];
        let samples = (across.as_chunks_mut::<P>().0.iter_mut())
            .zip(down.as_chunks_mut::<P>().0)
            .zip(deep.as_chunks_mut::<P>().0);
        for (((across, down), deep), inverse) in samples.zip(inverse) {
            let mut squares = self.nu_squared;
            for part in 0..P {
                squares +=
                    across[part] * across[part] + down[part] * down[part] + deep[part] * deep[part];
            }
            *inverse = 1.0 / squares.sqrt();
            for part in 0..P {
                across[part] *= *inverse;
                down[part] *= *inverse;
                deep[part] *= *inverse;
            }
        }
    }
}

struct AddProduct<'a> {
    weight: f64,
    at: Linearised<'a>,
    v: &'a [f64],
    out: &'a mut [f64],
}

impl StripKernel for AddProduct<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down, mut deep) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let (across, down, deep) = (&mut across[..len], &mut down[..len], &mut deep[..len]);
        strip.subtract_all(self.v, [across, down, deep]);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let z = (across.as_chunks_mut::<P>().0.iter_mut())
            .zip(down.as_chunks_mut::<P>().0)
            .zip(deep.as_chunks_mut::<P>().0);
        let n = (at.across.as_chunks::<P>().0.iter())
            .zip(at.down.as_chunks::<P>().0)
            .zip(at.deep.as_chunks::<P>().0);
        for ((z, n), inverse) in z.zip(n).zip(at.inverse) {
            let (((z_across, z_down), z_deep), ((n_across, n_down), n_deep)) = (z, n);
            let scale = self.weight * inverse;
            let mut along = 0.0;
            for part in 0..P {
                along += n_across[part] * z_across[part]
                    + n_down[part] * z_down[part]
                    + n_deep[part] * z_deep[part];
            }
            for part in 0..P {
                z_across[part] = scale * (z_across[part] - n_across[part] * along);
                z_down[part] = scale * (z_down[part] - n_down[part] * along);
                z_deep[part] = scale * (z_deep[part] - n_deep[part] * along);
            }
        }
        strip.add_all(self.out, [across, down, deep]);
    }
}

struct AddDiagonal<'a> {
    weight: f64,
    at: Linearised<'a>,
    diagonal: &'a mut [f64],
}

impl StripKernel for AddDiagonal<'_> {
    /// The sample at which the differences meet is an end of all of them with the same sign, so it
    /// gets the sum of all entries of `$W_j$`. A difference of a sample with itself has a normal of
    /// zero.
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down) = ([0.0; STRIP], [0.0; STRIP]);
        let (mut deep, mut shared) = ([0.0; STRIP], [0.0; STRIP]);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let out = (across[..len].as_chunks_mut::<P>().0.iter_mut())
            .zip(down[..len].as_chunks_mut::<P>().0)
            .zip(deep[..len].as_chunks_mut::<P>().0)
            .zip(shared[..len].as_chunks_mut::<P>().0);
        let n = (at.across.as_chunks::<P>().0.iter())
            .zip(at.down.as_chunks::<P>().0)
            .zip(at.deep.as_chunks::<P>().0);
        for ((out, n), inverse) in out.zip(n).zip(at.inverse) {
            let ((((across, down), deep), shared), ((n_across, n_down), n_deep)) = (out, n);
            let scale = self.weight * inverse;
            for part in 0..P {
                let (x, y, z) = (n_across[part], n_down[part], n_deep[part]);
                across[part] = scale * (1.0 - x * x);
                down[part] = scale * (1.0 - y * y);
                deep[part] = scale * (1.0 - z * z);
                shared[part] = -2.0 * scale * (x * y + (x + y) * z);
            }
        }
        let along = [&across[..len], &down[..len], &deep[..len]];
        strip.add_to_all_ends(self.diagonal, along, &shared[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::{Boundary, Differences, Direction};
    use crate::grid::Grid;
    use crate::regularizer::RegularizerHessian;
    use crate::regularizer::strips::sweep_one_by_one;

    /// The kernels compute the same bits with the widest vectors and without vectors.
    #[test]
    fn every_width_computes_the_same() {
        let boundaries = [Boundary::Zero, Boundary::Symmetric, Boundary::Periodic];
        for (boundary, cols) in boundaries.into_iter().zip([7, 131, 1]) {
            let differences = Differences {
                direction: Direction::Forward,
                boundary,
            };
            for grid in [Grid::volume(3, 2, cols), Grid::volume(2, 3, cols).complex()] {
                let tv = SmoothedTv::new(grid, differences, 0.1).unwrap();
                let random = |seed: usize| -> Vec<f64> {
                    let value = |i: usize| ((i * i + seed) as f64 * 0.37).sin();
                    (0..grid.len()).map(value).collect()
                };
                let (x, v) = (random(1), random(2));
                let nu_squared = tv.nu * tv.nu;
                let [mut memory, mut slow_memory] =
                    [vec![0.0; tv.memory_len()], vec![0.0; tv.memory_len()]];
                tv.linearise(&x, &mut memory);
                let to = tv.linearised_mut(&mut slow_memory);
                sweep_one_by_one(
                    &tv,
                    Linearise {
                        nu_squared,
                        x: &x,
                        to,
                    },
                );
                assert_eq!(memory, slow_memory);
                let (at, weight) = (tv.stored(&memory), 0.3);
                let [mut out, mut slow] = [v.clone(), v.clone()];
                tv.add_volume_gradient(weight, &x, &mut out);
                let gradient = &mut slow[..];
                sweep_one_by_one(
                    &tv,
                    AddGradient {
                        weight,
                        nu_squared,
                        x: &x,
                        gradient,
                    },
                );
                tv.add_volume_product(weight, at, &v, &mut out);
                sweep_one_by_one(
                    &tv,
                    AddProduct {
                        weight,
                        at,
                        v: &v,
                        out: &mut slow,
                    },
                );
                tv.add_volume_diagonal(weight, at, &mut out);
                sweep_one_by_one(
                    &tv,
                    AddDiagonal {
                        weight,
                        at,
                        diagonal: &mut slow,
                    },
                );
                assert_eq!(out, slow);
            }
        }
    }
}

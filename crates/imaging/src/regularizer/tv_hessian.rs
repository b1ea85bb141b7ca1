//! The Hessian of the smoothed total variation,
//! `$R''(x) = \widehat\nabla^T W(x)\widehat\nabla$` with one small matrix
//! `$W_j = (I - n_j n_j^T)/\sigma_j$` per sample, where
//! `$\sigma_j = \sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2}$` and
//! `$n_j = \widehat\nabla x(j)/\sigma_j$`.

use lowlevel::ThirdOrder;

use super::strips::{STRIP, Strip, StripKernel, sweep};
use super::tv::SmoothedTv;
use super::{Regularizer, RegularizerHessian};
use crate::model::tv_third_order;

/// The Hessian at a point, as `linearise` stores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linearised<'a> {
    /// `$1/\sigma_j$`, one number per sample.
    pub(crate) inverse: &'a [f64],
    /// The part of `$n_j$` that belongs to the differences across, like a picture.
    pub(crate) across: &'a [f64],
    /// The part of `$n_j$` that belongs to the differences down. Empty on a line.
    pub(crate) down: &'a [f64],
    /// The part of `$n_j$` that belongs to the differences of slices. Empty but for volumes.
    pub(crate) deep: &'a [f64],
}

/// The vectors of [`Linearised`], to be overwritten.
pub(super) struct LinearisedMut<'a> {
    pub(super) inverse: &'a mut [f64],
    pub(super) across: &'a mut [f64],
    pub(super) down: &'a mut [f64],
    pub(super) deep: &'a mut [f64],
}

impl SmoothedTv {
    /// The lengths of the vectors of [`Linearised`].
    const fn lengths(&self) -> [usize; 4] {
        let (len, num_axes) = (self.grid.len(), self.grid.num_axes());
        let down = if num_axes >= 2 { len } else { 0 };
        let deep = if num_axes == 3 { len } else { 0 };
        [self.grid.num_samples(), len, down, deep]
    }

    /// Returns the Hessian that is stored in `memory`, and a vector as long as a picture that is
    /// free to use.
    pub(crate) fn linearised<'m>(&self, memory: &'m mut [f64]) -> (Linearised<'m>, &'m mut [f64]) {
        let (used, free) = memory.split_at_mut(self.lengths().iter().sum());
        (self.stored(used), free)
    }

    /// Returns the part of `memory` that `linearise` overwrites.
    pub(super) fn linearised_mut<'m>(&self, memory: &'m mut [f64]) -> LinearisedMut<'m> {
        let [samples, len, down, deep] = self.lengths();
        let (inverse, rest) = memory.split_at_mut(samples);
        let (across, rest) = rest.split_at_mut(len);
        let (down, rest) = rest.split_at_mut(down);
        LinearisedMut {
            inverse,
            across,
            down,
            deep: &mut rest[..deep],
        }
    }

    /// Returns the Hessian that is stored in `memory`.
    pub(crate) fn stored<'m>(&self, memory: &'m [f64]) -> Linearised<'m> {
        let [samples, len, down, deep] = self.lengths();
        let needed = samples + len + down + deep;
        assert!(memory.len() >= needed, "call linearise first");
        let (inverse, rest) = memory.split_at(samples);
        let (across, rest) = rest.split_at(len);
        let (down, rest) = rest.split_at(down);
        Linearised {
            inverse,
            across,
            down,
            deep: &rest[..deep],
        }
    }
}

impl RegularizerHessian for SmoothedTv {
    fn memory_len(&self) -> usize {
        self.lengths().iter().sum::<usize>() + self.grid.len()
    }

    fn linearise(&self, x: &[f64], memory: &mut [f64]) {
        let to = self.linearised_mut(memory);
        if self.grid.num_axes() == 3 {
            return self.linearise_volume(x, to);
        }
        let nu_squared = self.nu * self.nu;
        sweep(self, Linearise { nu_squared, x, to });
    }

    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]) {
        if self.grid.num_axes() == 3 {
            return self.add_volume_product(weight, self.stored(memory), v, out);
        }
        sweep(
            self,
            AddProduct {
                weight,
                at: self.stored(memory),
                v,
                out,
            },
        );
    }

    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]) {
        if self.grid.num_axes() == 3 {
            return self.add_volume_diagonal(weight, self.stored(memory), diagonal);
        }
        sweep(
            self,
            AddDiagonal {
                weight,
                at: self.stored(memory),
                diagonal,
            },
        );
    }

    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder {
        tv_third_order(self, self.stored(memory), q, error)
    }

    /// The sum under the root has at most five terms, with a relative error of `$3u$` in each
    /// square, so `$1/\sigma_j$` has one of at most `$6u$` and each entry of `$n_j$` one of at most
    /// `$8u$`. The product `$z = \widehat\nabla v(j)$` has an error of `$u$`. Then
    /// `$n_j\langle n_j, z\rangle$`, which is no longer than `$z$`, has an error of at most
    /// `$(8 + 8 + 1 + 4 + 1)u\|z\|$`, and the flux one of at most
    /// `$(22 + 1 + 1 + 2 \cdot 6 + 4)u\|z\|/\sigma_j \le 40u\|z\|/\nu$`. Both
    /// `$\widehat\nabla$` and its adjoint multiply by at most `$\|\partial\|$`, so this is at most
    /// `$40u$` times `$L = \|\partial\|^2/\nu$` times `$\|v\|$`. Adding four fluxes to an entry
    /// adds at most `$4uL\|v\|$`. The rest is a margin for terms of second order. A volume has up
    /// to seven terms under the root and adds six fluxes, which makes these numbers 7, 9, 26, 48
    /// and 6.
    fn product_rounding(&self) -> f64 {
        let roundings = if self.grid.num_axes() == 3 {
            64.0
        } else {
            48.0
        };
        roundings * self.lipschitz()
    }
}

impl<'a> Linearised<'a> {
    /// The numbers that belong to a strip: `$1/\sigma$`, and `$n$` along each axis.
    #[inline(always)]
    pub(crate) fn strip<const P: usize>(self, strip: Strip, zeros: &'a [f64; STRIP]) -> Self {
        let (samples, entries) = (strip.first, P * strip.first);
        let len = P * strip.count;
        Self {
            inverse: &self.inverse[samples..samples + strip.count],
            across: &self.across[entries..entries + len],
            down: if self.down.is_empty() {
                &zeros[..len]
            } else {
                &self.down[entries..entries + len]
            },
            deep: if strip.is_of_volume() {
                &self.deep[entries..entries + len]
            } else {
                &[]
            },
        }
    }
}

/// Overwrites `to` with the Hessian at `x`.
struct Linearise<'a> {
    nu_squared: f64,
    x: &'a [f64],
    to: LinearisedMut<'a>,
}

impl StripKernel for Linearise<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let (samples, entries, len) = (strip.first, P * strip.first, P * strip.count);
        let mut unused = [0.0; STRIP];
        let across = &mut self.to.across[entries..entries + len];
        let down = if self.to.down.is_empty() {
            &mut unused[..len]
        } else {
            &mut self.to.down[entries..entries + len]
        };
        strip.subtract(self.x, across, down);
        let inverse = &mut self.to.inverse[samples..samples + strip.count];
        let (across, _) = across.as_chunks_mut::<P>();
        let (down, _) = down.as_chunks_mut::<P>();
        for ((inverse, across), down) in inverse.iter_mut().zip(across).zip(down) {
            let mut squares = self.nu_squared;
            for part in 0..P {
                squares += across[part] * across[part] + down[part] * down[part];
            }
            *inverse = 1.0 / squares.sqrt();
            for part in 0..P {
                across[part] *= *inverse;
                down[part] *= *inverse;
            }
        }
    }
}

/// Adds `$\widehat\nabla^T W\widehat\nabla v$`, times `weight`, to `out`.
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
        let (mut across, mut down) = ([0.0; STRIP], [0.0; STRIP]);
        strip.subtract(self.v, &mut across[..len], &mut down[..len]);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let (n_across, n_down) = (at.across.as_chunks::<P>().0, at.down.as_chunks::<P>().0);
        let (z_across, _) = across[..len].as_chunks_mut::<P>();
        let (z_down, _) = down[..len].as_chunks_mut::<P>();
        let z = z_across.iter_mut().zip(z_down);
        let n = n_across.iter().zip(n_down);
        for (((z_across, z_down), (n_across, n_down)), inverse) in z.zip(n).zip(at.inverse) {
            let scale = self.weight * inverse;
            let mut along = 0.0;
            for part in 0..P {
                along += n_across[part] * z_across[part] + n_down[part] * z_down[part];
            }
            for part in 0..P {
                z_across[part] = scale * (z_across[part] - n_across[part] * along);
                z_down[part] = scale * (z_down[part] - n_down[part] * along);
            }
        }
        strip.add(self.out, &across[..len], &down[..len]);
    }
}

/// Adds the diagonal of `$\widehat\nabla^T W\widehat\nabla$`, times `weight`, to `diagonal`.
struct AddDiagonal<'a> {
    weight: f64,
    at: Linearised<'a>,
    diagonal: &'a mut [f64],
}

impl StripKernel for AddDiagonal<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down, mut both) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let (n_across, n_down) = (at.across.as_chunks::<P>().0, at.down.as_chunks::<P>().0);
        let across_samples = across[..len].as_chunks_mut::<P>().0.iter_mut();
        let down_samples = down[..len].as_chunks_mut::<P>().0.iter_mut();
        let both_samples = both[..len].as_chunks_mut::<P>().0.iter_mut();
        let out = across_samples.zip(down_samples).zip(both_samples);
        let n = n_across.iter().zip(n_down);
        for ((((across, down), both), (n_across, n_down)), inverse) in out.zip(n).zip(at.inverse) {
            let scale = self.weight * inverse;
            for part in 0..P {
                across[part] = scale * (1.0 - n_across[part] * n_across[part]);
                down[part] = scale * (1.0 - n_down[part] * n_down[part]);
                both[part] = -2.0 * scale * n_across[part] * n_down[part];
            }
        }
        strip.add_to_ends(self.diagonal, &across[..len], &down[..len], &both[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::{Boundary, Differences, Direction};
    use crate::grid::Grid;
    use crate::regularizer::strips::sweep_one_by_one;
    use proptest::prelude::*;

    fn bits(x: &[f64]) -> Vec<u64> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// The kernels compute the same bits with the widest vectors and without vectors.
        #[test]
        fn every_width_computes_the_same(
            rows in 1_usize..5, cols in prop_oneof![1_usize..20, 120_usize..140],
            is_complex in any::<bool>(), is_line in any::<bool>(), is_forward in any::<bool>(),
            boundary in prop_oneof![Just(Boundary::Zero), Just(Boundary::Symmetric), Just(Boundary::Periodic)],
            random in proptest::collection::vec(-1.0..1.0_f64, 3 * 4 * 140 * 2),
        ) {
            let grid = if is_line { Grid::line(cols) } else { Grid::image(rows, cols) };
            let grid = if is_complex { grid.complex() } else { grid };
            let direction = if is_forward { Direction::Forward } else { Direction::Backward };
            let tv = SmoothedTv::new(grid, Differences { direction, boundary }, 0.01).unwrap();
            let (x, v) = (&random[..grid.len()], &random[grid.len()..2 * grid.len()]);
            let [mut memory, mut slow_memory] = [vec![0.0; tv.memory_len()], vec![0.0; tv.memory_len()]];
            tv.linearise(x, &mut memory);
            let to = tv.linearised_mut(&mut slow_memory);
            sweep_one_by_one(&tv, Linearise { nu_squared: tv.nu * tv.nu, x, to });
            prop_assert_eq!(bits(&memory), bits(&slow_memory));
            let [mut out, mut slow] = [v.to_vec(), v.to_vec()];
            tv.add_product(0.3, &memory, v, &mut out);
            let at = tv.stored(&memory);
            sweep_one_by_one(&tv, AddProduct { weight: 0.3, at, v, out: &mut slow });
            prop_assert_eq!(bits(&out), bits(&slow));
            tv.add_diagonal(0.3, &memory, &mut out);
            sweep_one_by_one(&tv, AddDiagonal { weight: 0.3, at, diagonal: &mut slow });
            prop_assert_eq!(bits(&out), bits(&slow));
        }
    }
}

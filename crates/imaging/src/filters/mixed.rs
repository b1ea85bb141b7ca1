//! The derivatives of a filter bank's gradient with respect to its potentials and its filters.
//!
//! Let `$u$` and `$v$` be the responses of a filter to `$x$` and to `$q$`, with `$s_1$`, `$s_2$`,
//! `$a$` and `$b$` of [`hessian`](super::hessian). The product of `$q$` with the gradient is
//! `$\sum a\langle u, v\rangle$`, so its derivatives with respect to
//! `$(\alpha, \nu, \beta, \omega)$` are the sums of `$\langle u, v\rangle$` times
//! `$(1/s_1, -\alpha\nu/s_1^3, -1/s_2, \beta\omega/s_2^3)$`. The derivative with respect to the
//! coefficient of a basis filter `$d$` is `$\sum\langle Wv, d*x\rangle + \langle au, d*q\rangle$`.

use pulp::Scalar;

use super::FilterRegularizer;
use super::TwoRoots;
use super::mixing::potential_of;
use super::regularizer::{no_responses, pairs, split, with_parts};
use super::sweep::{Lanes, STRIP};
use crate::grid::Field;
use crate::model::vectorize;

/// Sums over lanes, one for each derivative with respect to a potential.
type PotentialSums = [Lanes; 4];

impl FilterRegularizer {
    /// Overwrites `by_potential` with the derivatives of `$\langle\nabla R(x), q\rangle$` with
    /// respect to `$(\alpha_k, \nu_k, \beta_k, \omega_k)$` for every potential `$k$`, and
    /// `by_coefficient` with those with respect to the coefficients of learned filters.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        by_potential: &mut [[f64; 4]],
        by_coefficient: &mut [f64],
    ) {
        let num_coefficients = (self.bank.mixing.as_ref()).map_or(0, |m| m.entries().len());
        assert_eq!(
            by_potential.len(),
            potential_of(&self.bank.basis, self.bank.potentials.len() - 1) + 1,
            "one for each potential"
        );
        assert_eq!(
            by_coefficient.len(),
            num_coefficients,
            "one for each coefficient"
        );
        by_potential.fill([0.0; 4]);
        by_coefficient.fill(0.0);
        with_parts!(self.grid, P, PAIR => {
            self.mixed_products_of_parts::<P, PAIR>(x, q, by_potential, by_coefficient);
        });
    }

    fn mixed_products_of_parts<const P: usize, const PAIR: usize>(
        &self,
        x: &[f64],
        q: &[f64],
        by_potential: &mut [[f64; 4]],
        by_coefficient: &mut [f64],
    ) {
        let bank = &*self.bank;
        let [mut u, mut v] = [no_responses::<f64, P>(0.0), no_responses(0.0)];
        self.sweep()
            .read(pairs::<P, PAIR>(x, q), |position, responses| {
                vectorize(
                    #[inline(always)]
                    || {
                        let [of_x, of_q] = split::<f64, P, PAIR>(responses);
                        let Some(mixing) = &bank.mixing else {
                            for (k, (out, p)) in
                                by_potential.iter_mut().zip(&bank.potentials).enumerate()
                            {
                                let u = of_x.each_ref().map(|part| &part[k + 1]);
                                let v = of_q.each_ref().map(|part| &part[k + 1]);
                                add_sums(&potential_sums(*p, u, v), position.count, out);
                            }
                            return;
                        };
                        for (u, of_x) in u.iter_mut().zip(of_x.iter()) {
                            mixing.combine(Scalar::new(), of_x, u);
                        }
                        for (v, of_q) in v.iter_mut().zip(of_q.iter()) {
                            mixing.combine(Scalar::new(), of_q, v);
                        }
                        for (k, p) in bank.potentials.iter().enumerate() {
                            let mut of_u = u.each_ref().map(|part| part[k + 1]);
                            let mut of_v = v.each_ref().map(|part| part[k + 1]);
                            let sums = potential_sums(*p, of_u.each_ref(), of_v.each_ref());
                            add_sums(
                                &sums,
                                position.count,
                                &mut by_potential[potential_of(&bank.basis, k)],
                            );
                            fluxes(*p, &mut of_u, &mut of_v);
                            for part in 0..P {
                                u[part][k + 1] = of_u[part];
                                v[part][k + 1] = of_v[part];
                            }
                        }
                        for planes in u.iter_mut().chain(v.iter_mut()) {
                            mixing.slant_responses(Scalar::new(), planes);
                        }
                        let mut out = &mut *by_coefficient;
                        for (k, (_, members)) in mixing.rows().enumerate() {
                            let (entries, rest) = out.split_at_mut(members.len());
                            out = rest;
                            for (entry, member) in entries.iter_mut().zip(members) {
                                let mut terms = [0.0; STRIP];
                                for part in 0..P {
                                    let (d_x, d_q) =
                                        (&of_x[part][member + 1], &of_q[part][member + 1]);
                                    let (u, v) = (&u[part][k + 1], &v[part][k + 1]);
                                    for lane in 0..STRIP {
                                        terms[lane] += v[lane] * d_x[lane] + u[lane] * d_q[lane];
                                    }
                                }
                                *entry += terms[..position.count].iter().sum::<f64>();
                            }
                        }
                    },
                );
            });
    }
}

/// The squares `$|u|^2$` and the products `$\langle u, v\rangle$`.
#[inline(always)]
fn square_and_product<const P: usize>(u: [&Lanes; P], v: [&Lanes; P], lane: usize) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for part in 0..P {
        sums[0] += u[part][lane] * u[part][lane];
        sums[1] += u[part][lane] * v[part][lane];
    }
    sums
}

#[expect(
    clippy::needless_range_loop,
    reason = "a loop over lanes, which the compiler turns into vectors"
)]
#[inline(always)]
fn potential_sums<const P: usize>(p: TwoRoots, u: [&Lanes; P], v: [&Lanes; P]) -> PotentialSums {
    let mut sums = [[0.0; STRIP]; 4];
    for lane in 0..STRIP {
        let [square, product] = square_and_product(u, v, lane);
        let first = 1.0 / (square + p.nu * p.nu);
        let second = 1.0 / (square + p.omega * p.omega);
        let by_alpha = product * first.sqrt();
        let by_beta = product * second.sqrt();
        sums[0][lane] = by_alpha;
        sums[1][lane] = -p.alpha * p.nu * first * by_alpha;
        sums[2][lane] = -by_beta;
        sums[3][lane] = p.beta * p.omega * second * by_beta;
    }
    sums
}

#[inline(always)]
fn add_sums(sums: &PotentialSums, count: usize, out: &mut [f64; 4]) {
    for (out, lanes) in out.iter_mut().zip(sums) {
        *out += lanes[..count].iter().sum::<f64>();
    }
}

/// Replaces responses `$u$` by `$au$`, and `$v$` by `$Wv$`.
#[inline(always)]
fn fluxes<const P: usize>(p: TwoRoots, u: &mut [Lanes; P], v: &mut [Lanes; P]) {
    for lane in 0..STRIP {
        let [square, product] = square_and_product(u.each_ref(), v.each_ref(), lane);
        let first = 1.0 / (square + p.nu * p.nu);
        let second = 1.0 / (square + p.omega * p.omega);
        let [alpha, beta] = [p.alpha * first.sqrt(), p.beta * second.sqrt()];
        let (a, b) = (alpha - beta, alpha * first - beta * second);
        for part in 0..P {
            let response = u[part][lane];
            v[part][lane] = a * v[part][lane] - b * product * response;
            u[part][lane] = a * response;
        }
    }
}

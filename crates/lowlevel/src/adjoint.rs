//! Derivatives of a loss of the minimiser, and an interval for its value, with bounds on their
//! errors and the derivation of the bounds.
//!
//! Let `$\hat x$` minimise a `$\mu$`-strongly convex `$\Phi$`, which depends on parameters
//! `$\theta$`, over the whole space, and let `$\ell$` be a convex loss whose gradient is
//! `$L_\ell$`-Lipschitz. How does `$\ell(\hat x(\theta))$` depend on `$\theta$`? With the Hessian
//! `$H = \nabla^2\Phi$` and the derivatives `$B_k = \partial_{\theta_k}\nabla\Phi$`,
//! differentiating `$\nabla\Phi(\hat x(\theta); \theta) = 0$` gives
//!
//! ```math
//! \frac{\partial\, \ell(\hat x(\theta))}{\partial\theta_k} = -\langle B_k(\hat x), \hat q\rangle,
//! \qquad H(\hat x)\,\hat q = \nabla\ell(\hat x).
//! ```
//!
//! The **adjoint** `$\hat q$` does not depend on `$k$`: one linear system gives the derivatives
//! with respect to any number of parameters. We know a point `$\tilde x$` with
//! `$\|\tilde x - \hat x\| \le \varepsilon$`, and compute a `$\tilde q$` with the residual
//!
//! ```math
//! r = \nabla\ell(\tilde x) - H(\tilde x)\,\tilde q, \qquad \|r\| \le \delta.
//! ```
//!
//! [`solve_adjoint`] computes `$\tilde q$` and `$\delta$`, and two bounds on the change of the
//! Hessian ([`ThirdOrder`]) that hold for every `$e$` with `$\|e\| \le \varepsilon$`,
//!
//! ```math
//! \|(H(\tilde x + e) - H(\tilde x))\,\tilde q\| \le T_1, \qquad
//! |\langle\tilde q, (\bar H - H(\tilde x))\,e\rangle| \le T_2,
//! ```
//!
//! where `$\bar H$` is the mean of `$H$` on the segment from `$\tilde x$` to `$\tilde x + e$`. From
//! now on, `$e = \tilde x - \hat x$`, and `$\bar H$` is the mean on the segment from `$\tilde x$`
//! to `$\hat x$`.
//!
//! **Error of the adjoint.** The difference of the two systems is
//!
//! ```math
//! H(\hat x)(\tilde q - \hat q) =
//! (H(\hat x) - H(\tilde x))\,\tilde q - r + \nabla\ell(\tilde x) - \nabla\ell(\hat x).
//! ```
//!
//! If no eigenvalue of `$H(\hat x)$` is below `$\hat\mu$`, then
//!
//! ```math
//! \|\tilde q - \hat q\| \le \frac{T_1 + \delta + L_\ell\,\varepsilon}{\hat\mu}.
//! ```
//!
//! This is [`adjoint_error`]. Here `$\hat\mu$` is `$\mu$`, or the larger
//! [`curvature_near`](SecondOrder::curvature_near).
//!
//! **Error of the gradient.** The computed derivative `$-\langle B_k(\tilde x), \tilde q\rangle$`
//! exceeds the exact one by
//!
//! ```math
//! \langle B_k(\hat x) - B_k(\tilde x), \tilde q\rangle + \langle B_k(\hat x), \hat q - \tilde q\rangle.
//! ```
//!
//! With a bound `$E_k$` on the size of the first product ([`MixedBound::change`]), the size of the
//! whole is at most the following number ([`MixedBound::gradient_error`]).
//!
//! ```math
//! E_k + \|B_k(\hat x)\|\, \frac{T_1 + \delta + L_\ell\,\varepsilon}{\hat\mu}.
//! ```
//!
//! **Corrected value.** Let
//! `$f_c = \ell(\tilde x) - \langle\tilde q, \nabla\Phi(\tilde x)\rangle$`. By Taylor's theorem,
//!
//! ```math
//! \ell(\hat x) = \ell(\tilde x) - \langle\nabla\ell(\tilde x), e\rangle + R, \qquad
//! 0 \le R \le \tfrac{L_\ell}{2}\|e\|^2,
//! ```
//!
//! where `$R$` is not negative because `$\ell$` is convex. The gradient of `$\Phi$` vanishes at
//! `$\hat x$`, so it is `$\bar H e$` at `$\tilde x$`. Inserting `$\nabla\ell(\tilde x) =
//! H(\tilde x)\,\tilde q + r$` gives
//!
//! ```math
//! \ell(\hat x) = f_c + R - \langle r, e\rangle + \langle\tilde q, (\bar H - H(\tilde x))\,e\rangle,
//! ```
//!
//! and therefore
//!
//! ```math
//! \ell(\hat x) \in \bigl[ f_c - \delta\varepsilon - T_2,\;
//! f_c + \tfrac{L_\ell}{2}\varepsilon^2 + \delta\varepsilon + T_2 \bigr].
//! ```
//!
//! So the error of `$f_c$` is of second order in `$\varepsilon$`, while that of `$\ell(\tilde x)$`
//! is of first order. [`corrected_value`] intersects this interval with the **plain interval**,
//! which needs no adjoint:
//!
//! ```math
//! -\|\nabla\ell(\tilde x)\|\,\varepsilon \le \ell(\hat x) - \ell(\tilde x) \le
//! \|\nabla\ell(\tilde x)\|\,\varepsilon + \tfrac{L_\ell}{2}\varepsilon^2.
//! ```
//!
//! If the loss is nowhere negative, then `$\|\nabla\ell\|^2 \le 2L_\ell\,\ell$` everywhere, so
//! `$\sqrt\ell$` changes by at most `$\sqrt{L_\ell/2}\,\varepsilon$`, and
//!
//! ```math
//! \Bigl(\sqrt{\ell(\tilde x)} - \sqrt{L_\ell/2}\,\varepsilon\Bigr)_+^2 \le \ell(\hat x) \le
//! \Bigl(\sqrt{\ell(\tilde x)} + \sqrt{L_\ell/2}\,\varepsilon\Bigr)^2.
//! ```
//!
//! For `$\ell(x) = \|x - t\|^2$` the square roots are `$\|\tilde x - t\|$` and 1.
//!
//! **Rounding.** The residual is computed afresh from a product with `$H(\tilde x)$`, never
//! updated. Its bound `$\delta$` includes the rounding errors of this product
//! ([`product_rounding`](SecondOrder::product_rounding)), of `$\nabla\ell$` and of the norm. Let
//! the computed gradient of `$\Phi$` be `$g$`, with an error of at most `$\rho_g$`
//! ([`gradient_rounding`](StronglyConvex::gradient_rounding)), and let `$\rho_\ell$` bound the
//! error of the computed loss. The inner product of two vectors of length `$d$` adds up eight
//! partial sums, so no term is rounded more than `$n = d/8 + 17$` times. Then the computed `$f_c$`
//! is off by at most
//!
//! ```math
//! \rho_\ell + \|\tilde q\|\,\rho_g + n\,u\,\|\tilde q\|\,\|g\| + u\,|f_c|,
//! ```
//!
//! up to products of two such terms, for which we enlarge everything by a few `$u$`. As in the
//! module [`certificate`](crate::certificate), numbers that underflow add `$d$` times the smallest
//! normal number.

mod bounds;
mod hypergradient;
mod inverse_form;
mod loss;
mod solve;
mod state;

pub use bounds::{MixedBound, ValueInterval, adjoint_error, corrected_value};
pub use hypergradient::{Hypergradient, HypergradientState, hypergradient};
pub use inverse_form::{InverseForm, hessian_slope, inverse_form};
pub use loss::{LossAt, LossRounding};
pub(crate) use solve::newton_step;
pub use solve::solve_adjoint;
pub use state::{Adjoint, AdjointOutcome, AdjointState, AdjointStop};

#[cfg(doc)]
use crate::{SecondOrder, StronglyConvex, ThirdOrder};

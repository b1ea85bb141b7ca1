"""Learn a map of weights, one for each pixel, with a model of your own and gradients.

A picture x minimises ½‖x − y‖² + Σ wⱼ √(‖(∇x)ⱼ‖² + ν²), where y is the noisy picture. The weights
wⱼ = 10^θⱼ are learned from pictures whose edges are always at the same places, as those of a camera
that does not move.
"""

from __future__ import annotations

from typing import Any

import bilevel
import numpy as np

SIZE, NU = 24, 0.05


def differences(x: Any) -> Any:
    """The differences of each pixel and the next one, down and to the right."""
    d = np.zeros((2, *x.shape))
    d[0, :-1] = x[1:] - x[:-1]
    d[1, :, :-1] = x[:, 1:] - x[:, :-1]
    return d


def adjoint(d: Any) -> Any:
    """The adjoint of the differences."""
    x = np.zeros(d.shape[1:])
    x[1:] += d[0, :-1]
    x[:-1] -= d[0, :-1]
    x[:, 1:] += d[1, :, :-1]
    x[:, :-1] -= d[1, :, :-1]
    return x


def weights(theta: Any) -> Any:
    return 10.0 ** theta.reshape(SIZE, SIZE)


def root(d: Any) -> Any:
    return np.sqrt((d * d).sum(axis=0) + NU * NU)


def gradient(theta: Any, y: Any, x: Any) -> Any:
    d = differences(x)
    return x - y + adjoint(weights(theta) / root(d) * d)


def curvature(theta: Any, y: Any) -> tuple[float, float]:
    return 1.0, 1.0 + 8.0 * weights(theta).max() / NU  # the differences have the norm √8


def hessian_product(theta: Any, y: Any, x: Any, v: Any) -> Any:
    d, e = differences(x), differences(v)
    r = root(d)
    along = (d * e).sum(axis=0) / r**2
    return v + adjoint(weights(theta) / r * (e - along * d))


def mixed_product(theta: Any, y: Any, x: Any, q: Any) -> Any:
    d = differences(x)
    slopes = (d * differences(q)).sum(axis=0) / root(d)
    return (np.log(10.0) * weights(theta) * slopes).ravel()


def third_derivative(theta: Any, y: Any) -> float:
    return float(8.0**1.5 * 0.859 / NU**2 * weights(theta).max())


def main() -> None:
    """Compare a map of weights with one weight for all pixels."""
    model = bilevel.StronglyConvex(
        gradient, curvature, hessian_product, mixed_product, third_derivative
    )
    scene = bilevel.phantoms.dead_leaves(1, (SIZE, SIZE), seed=4)[0]
    truth = scene * np.linspace(0.6, 1.0, 4)[:, None, None]
    data = bilevel.add_noise(truth, 0.1, seed=4)
    theta = np.full((SIZE, SIZE), -1.0)
    bilevel.testing.check_model(model, theta, data[0], data[0])

    shared = bilevel.learn(truth, data, learn=("alpha",), fixed={"nu": NU, "xi": 1e-6})
    learned = bilevel.learn(
        truth, data, model=model, start={"map": theta}, bounds={"map": (-3.0, 0.5)}, max_points=40
    )
    print(f"one weight:        f = {shared.f:.4f} ± {shared.f_error:.1g}")
    print(f"{learned.theta.size} weights:       f = {learned.f:.4f} ± {learned.f_error:.1g}")
    assert learned.solver == "gradient" and learned.interval[1] < 0.8 * shared.interval[0]
    image = model.reconstruct(learned.theta, data[0], data[0].shape, accuracy=1e-3)
    print(f"PSNR of the first picture: {bilevel.psnr(image, truth[0]):.1f} dB")


if __name__ == "__main__":
    main()

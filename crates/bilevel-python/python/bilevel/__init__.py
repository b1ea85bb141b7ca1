"""Denoise pictures, and learn the parameters of image reconstruction from examples.

>>> import bilevel
>>> noisy = bilevel.add_noise(bilevel.phantoms.shepp_logan((48, 48)), 0.1)
>>> denoised = bilevel.denoise(noisy)                      # nothing has to be learned
>>> denoised.image.shape
(48, 48)

`denoise` uses filters that were learned from photographs, and estimates the noise if it is not
given. Parameters for images and measurements of your own are learned:

>>> truth = bilevel.phantoms.box_functions(5, 64)          # the true signals
>>> data = bilevel.add_noise(truth, 0.1)                   # the measured signals
>>> result = bilevel.learn(truth, data)
>>> sorted(result.params)
['alpha', 'nu', 'xi']
>>> denoised = result.apply(data[0])
>>> bilevel.psnr(denoised, truth[0]) > bilevel.psnr(data[0], truth[0]) + 3
True

`learn` finds the parameters and returns a `Result`, which reconstructs other images. With `out`, a
run is saved in a directory; `resume` continues it, and `load` reads its result. `Run` learns step
by step. `StronglyConvex` is a reconstruction problem of your own, and `testing` checks it.
`learn_mask` learns which frequencies of magnetic resonance pictures to measure.
`denoise_tv` is the solver of one reconstruction with total variation, with a certified error.
`Poisson` is the noise of a camera that counts photons. `phantoms` and `add_noise` generate test
data, `estimate_noise` finds the noise of a picture; `psnr`, `ssim` and `mse` score reconstructions.
The program `bilevel` is installed, too: `bilevel --help`.
"""

from . import phantoms, testing
from ._bilevel import __version__
from ._camera import Poisson
from ._convex import Reject, StronglyConvex
from ._denoise import DenoisedImage, denoise, estimate_noise
from ._denoise_tv import Denoised, denoise_tv
from ._learn import learn, resume
from ._mask import MaskedImages, MaskResult, learn_mask, load_mask
from ._quality import mse, psnr, ssim
from ._result import Result, load
from ._run import Run
from .phantoms import add_noise

__all__ = [
    "Denoised",
    "DenoisedImage",
    "MaskResult",
    "MaskedImages",
    "Poisson",
    "Reject",
    "Result",
    "Run",
    "StronglyConvex",
    "__version__",
    "add_noise",
    "denoise",
    "denoise_tv",
    "estimate_noise",
    "learn",
    "learn_mask",
    "load",
    "load_mask",
    "mse",
    "phantoms",
    "psnr",
    "resume",
    "ssim",
    "testing",
]

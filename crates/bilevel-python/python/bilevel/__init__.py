"""Learn the parameters of image reconstruction from examples.

>>> import bilevel
>>> truth = bilevel.phantoms.box_functions(5, 64)          # what should come out
>>> data = bilevel.add_noise(truth, 0.1)                   # what was measured
>>> result = bilevel.learn(truth, data)
>>> sorted(result.params)
['alpha', 'nu', 'xi']
>>> denoised = result.apply(data[0])
>>> bilevel.psnr(denoised, truth[0]) > bilevel.psnr(data[0], truth[0]) + 3
True

`learn` finds the parameters, and gives a `Result`. `Run` is the same, step by step. `denoise` is the solver that makes the
reconstructions, each with a certified error. `phantoms` and `add_noise` make data to try it on, `psnr`, `ssim` and `mse` say how good
a result is.
"""

from . import phantoms
from ._bilevel import __version__
from ._denoise import Denoised, denoise
from ._learn import learn
from ._quality import mse, psnr, ssim
from ._result import Result, load
from ._run import Reject, Run
from .phantoms import add_noise

__all__ = [
    "Denoised",
    "Reject",
    "Result",
    "Run",
    "__version__",
    "add_noise",
    "denoise",
    "learn",
    "load",
    "mse",
    "phantoms",
    "psnr",
    "ssim",
]

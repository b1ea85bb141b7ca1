from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "__version__",
    "Run",
    "ForeignRun",
    "completed",
    "describe_functions",
    "describe_run",
    "describe_mask",
    "heads",
    "kernel_warnings",
    "learn_mask",
    "main",
    "named_kernel",
    "open_functions",
    "periodicity_warning",
    "reconstruct",
    "reconstruct_masked",
    "reconstruct_with",
    "start_functions",
    "denoise_picture",
    "camera_map",
    "camera_noise",
    "estimate_camera",
    "add_photons",
    "estimate_noise",
    "box_functions",
    "dead_leaves",
    "shepp_logan",
    "add_noise",
    "patches",
    "mse",
    "psnr",
    "ssim",
]

__version__: str

_Row: TypeAlias = NDArray[np.float64]
_Truth: TypeAlias = tuple[_Row, Sequence[int], float]
_Example: TypeAlias = tuple[_Row, _Row, Sequence[int]]
_Progress: TypeAlias = tuple[int, int, tuple[list[float], list[float], float, float, float] | None]

_Camera: TypeAlias = tuple[float, float, float]

class _Operator(TypedDict):
    kernel: NDArray[np.float64] | None
    shape: str | None
    mask: NDArray[np.bool_] | None

class _Ranks(Protocol):
    rank: int
    def gather(self, own: _Row, /) -> Sequence[_Row]: ...

@final
class Run:
    def __new__(
        cls,
        settings: str,
        examples: Sequence[_Example],
        validation: Sequence[_Example],
        operator: _Operator,
        shape: Sequence[int],
        out: str | PathLike[str] | None,
        ranks: _Ranks | None,
        noise: Sequence[float],
        camera: _Camera | None,
    ) -> Run: ...
    @staticmethod
    def open(
        dir: str | PathLike[str],
        max_points: int | None,
        threads: int | None,
        ranks: _Ranks | None,
    ) -> Run: ...
    def has_ended(self) -> bool: ...
    def about(self) -> tuple[list[list[int]], int | None, list[str]]: ...
    def blocks(self) -> list[tuple[str, list[int]]]: ...
    def step(self) -> bool: ...
    def bytes(self) -> int: ...
    def progress(self) -> _Progress: ...
    def detach(self) -> None: ...
    def finish(self) -> str: ...

@final
class ForeignRun:
    def __new__(cls, settings: str, truths: Sequence[_Row]) -> ForeignRun: ...
    def ask(self) -> tuple[_Row, _Row, Any] | None: ...
    def answer(
        self, images: Sequence[_Row], errors: Sequence[float], state: Any, work: int
    ) -> None: ...
    def reject(self, reason: str) -> None: ...
    def progress(self) -> _Progress: ...
    def finish(self) -> str: ...

def start_functions(
    settings: str,
    max_points: int,
    functions: Any,
    training: Sequence[_Truth],
    validation: Sequence[_Truth],
    is_complex: bool,
    out: str | PathLike[str] | None,
    ranks: _Ranks | None,
) -> Run: ...
def open_functions(
    dir: str | PathLike[str],
    max_points: int | None,
    functions: Any,
    training: Sequence[_Truth],
    validation: Sequence[_Truth],
    is_complex: bool,
    ranks: _Ranks | None,
) -> Run: ...
def describe_functions(dir: str | PathLike[str]) -> tuple[str, str | None] | None: ...
def reconstruct_with(
    functions: Any,
    theta: Sequence[float],
    shape: Sequence[int],
    is_complex: bool,
    accuracy: float,
) -> tuple[_Row, float, str | None]: ...
def kernel_warnings(kernel: NDArray[np.float64]) -> list[str]: ...
def named_kernel(name: str) -> NDArray[np.float64]: ...
def periodicity_warning(
    kernel: NDArray[np.float64], images: Sequence[tuple[str, _Row, Sequence[int]]]
) -> str | None: ...
def completed(json: str, kernel: str | None) -> str: ...
def describe_run(
    dir: str | PathLike[str],
) -> tuple[
    str,
    int,
    tuple[_Row, list[int]] | None,
    str | None,
    tuple[_Row, list[int]] | None,
    str | None,
    _Camera | None,
]: ...
def camera_map(camera: _Camera, name: str, values: _Row) -> _Row: ...
def camera_noise(camera: _Camera) -> tuple[float, float]: ...
def estimate_camera(frames: Sequence[_Row]) -> tuple[float, float]: ...
def add_photons(x: _Row, camera: _Camera, seed: int, index: int) -> _Row: ...
def main(arguments: Sequence[str]) -> int: ...
def reconstruct(
    settings: str,
    operator: _Operator,
    values: Sequence[float],
    data: _Row,
    shape: Sequence[int],
    start: _Row | None,
    accuracy: float,
    max_iterations: int | None,
    unwatched: int,
) -> tuple[_Row, float, int, str | None]: ...
def denoise_picture(
    planes: _Row, rows: int, cols: int, noise: float, accuracy: float | None, by_tiles: bool
) -> tuple[_Row, float, int]: ...
def estimate_noise(planes: _Row, rows: int, cols: int) -> float: ...
def learn_mask(
    kspace: tuple[_Row, Sequence[int]],
    maps: tuple[_Row, Sequence[int]] | None,
    zero: str | None,
    spec: str,
    observe: Any,
) -> str: ...
def reconstruct_masked(
    outcome: str,
    kspace: tuple[_Row, Sequence[int]],
    maps: tuple[_Row, Sequence[int]] | None,
    zero: str | None,
    accuracy: float,
) -> tuple[_Row, list[float], int, bool]: ...
def describe_mask(outcome: str) -> tuple[_Row, list[str]]: ...
def heads(count: int, rows: int, cols: int, seed: int) -> _Row: ...
def box_functions(count: int, num_samples: int, seed: int) -> _Row: ...
def dead_leaves(count: int, shape: Sequence[int], seed: int, is_colour: bool) -> _Row: ...
def shepp_logan(rows: int, cols: int) -> _Row: ...
def add_noise(x: _Row, is_complex: bool, sigma: float, seed: int, index: int) -> _Row: ...
def patches(
    rows: int, cols: int, size: int, count: int, seed: int, index: int
) -> list[tuple[int, int]] | None: ...
def mse(x: _Row, truth: _Row) -> float: ...
def psnr(x: _Row, truth: _Row, peak: float) -> float: ...
def ssim(x: _Row, truth: _Row, rows: int, cols: int, peak: float) -> float: ...

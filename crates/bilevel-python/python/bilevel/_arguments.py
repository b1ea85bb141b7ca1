"""The arguments of `learn` and `Run`: only here are their names, types and defaults."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar, Union

from numpy.typing import ArrayLike, NDArray

from ._camera import Poisson
from ._convex import StronglyConvex
from ._settings import TV

Model: TypeAlias = Union[
    Literal["tv", "filters", "deblur", "inpaint", "sampling"],
    str,
    StronglyConvex,
    Callable[..., Any],
]
Values: TypeAlias = Union[Mapping[str, Any], Sequence[float], NDArray[Any], float]
Ranges: TypeAlias = Union[
    Mapping[str, tuple[float, float]], Sequence[tuple[float, float]], tuple[float, float]
]

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(repr=False, eq=False)
class Arguments:
    """The arguments of `Run`, which are described at `learn`."""

    truth: Any
    data: Any
    model: Model = "tv"
    learn: Any = TV
    fixed: Mapping[str, float] | None = None
    start: Values | None = None
    bounds: Ranges | None = None
    objective: str = "mean"
    residuals: str = "pixel"
    penalty: Mapping[str, Any] | None = None
    max_points: int = 100
    method: str = "auto"
    accuracy: str | int = "dynamic"
    threads: int | None = None
    seed: int = 0
    _: KW_ONLY
    filters: str | None = None
    patches: int | None = None
    patch_size: int = 64
    kernel: ArrayLike | str | None = None
    boundary: str | None = None
    mask: ArrayLike | None = None
    validation: tuple[Any, Any] | None = None
    image_range: tuple[float | None, float | None] | None = None
    solver: str = "auto"
    kappa: float = 0.1
    criterion: str | None = None
    noise: float | Sequence[float] | Poisson | None = None
    out: str | os.PathLike[str] | None = None
    comm: Any = None
    colour: str | None = None
    channel_axis: int | None = None
    slices: str = "pictures"

    def refuse(self, names: Sequence[str], problem: str) -> None:
        """Refuse values for these arguments, unless they are the defaults or `None`."""
        for name in names:
            value, default = getattr(self, name), getattr(Arguments, name)
            is_default = value == default if isinstance(value, str) else value is default
            if not is_default and value is not None:
                raise ValueError(f"{name} {problem}: leave it out")


def named_by(
    arguments: Callable[..., Any], function: Callable[..., Any], num_own: int
) -> Callable[..., Any]:
    """Let a function take the fields of a dataclass as its arguments, after some of its own.

    The function gets the dataclass. Its signature, and the errors of calls, are those of a function
    with all these arguments.
    """
    signature = inspect.signature(arguments)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args[num_own:], **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__qualname__}() {error}") from None
        return function(*args[:num_own], arguments(*given.args, **given.kwargs))

    own = inspect.signature(function)
    first = list(own.parameters.values())[:num_own]
    call.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*first, *signature.parameters.values()]
    )
    return call


def takes(
    arguments: Callable[P, A],
) -> Callable[[Callable[[S, A], R]], Callable[Concatenate[S, P], R]]:
    """Let a method take the fields of a dataclass as its arguments."""
    return lambda method: named_by(arguments, method, 1)

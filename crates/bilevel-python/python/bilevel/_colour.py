"""Pictures in colour: from the arrays that users pass to arrays of shape (H, W, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, SupportsIndex

import numpy as np

from ._arrays import Array, check_finite, is_array, is_empty, numbers, refuse_masked

KINDS: Final = ("opponent", "channels", "grey")
# The weights of red, green and blue in the luminance, as in the program.
LUMINANCE: Final = (0.299, 0.587, 0.114)
# The weights of luminance and chroma, for which `alpha` stands.
WEIGHTS: Final = ("alpha_luminance", "alpha_chroma")


@dataclass
class Colour:
    """How pictures with channels are treated, and the axis of their channels."""

    kind: str
    axis: int

    @classmethod
    def read(cls, colour: Any, channel_axis: Any, model: str, is_whole: bool) -> Colour | None:
        """Check the arguments; `None` if pictures have no channels.

        With `is_whole`, a picture is one unknown by default.
        """
        if colour is None and channel_axis is None:
            return None
        if colour is not None and (not isinstance(colour, str) or colour not in KINDS):
            raise ValueError(
                f"colour is {colour!r}, but must be one of {', '.join(map(repr, KINDS))}"
            )
        usual = "opponent" if is_whole else "channels"
        kind = usual if colour is None else colour
        if kind == "opponent" and model == "sampling":
            raise ValueError(
                f"model={model!r} has no form for pictures in colour: pass colour='channels' to "
                "treat each channel as a picture, or colour='grey'"
            )
        return cls(kind, -1 if channel_axis is None else whole_axis(channel_axis))

    @property
    def is_whole(self) -> bool:
        """Whether a picture in colour is one unknown."""
        return self.kind == "opponent"

    def _axis_of_one(self, value: Any) -> int:
        """The axis of the channels in one picture of an array or of a sequence."""
        return self.axis - 1 if is_array(value) and self.axis > 0 else self.axis

    def images(self, name: str, value: Any, finite: bool = True) -> list[Array]:
        """Check several pictures: an array (n, H, W, 3) or a sequence of arrays (H, W, 3).

        Colours stay together, become pictures of their own, or become grey.
        """
        if is_empty(value):
            raise ValueError(f"{name} is empty: it holds no images")
        made: list[Array] = []
        axis = self._axis_of_one(value)
        for each, part in parts(name, value, self.axis):
            picture = rgb(each, part, axis, self.kind != "channels", finite)
            if self.kind == "opponent":
                made.append(picture)
            elif self.kind == "grey":
                made.append(np.ascontiguousarray(picture @ np.array(LUMINANCE)))
            else:
                made.extend(np.ascontiguousarray(x) for x in np.moveaxis(picture, -1, 0))
        return made


def whole_axis(axis: Any) -> int:
    """Check the number of an axis."""
    if not isinstance(axis, SupportsIndex) or isinstance(axis, (bool, np.bool_)):
        raise TypeError(f"channel_axis must be a whole number, not {axis!r}")
    return axis.__index__()


def parts(name: str, value: Any, axis: int) -> list[tuple[str, Any]]:
    """The pictures of an array along its first axis, or of a sequence, with their names."""
    refuse_masked(name, value)
    if is_array(value):
        array = numbers(name, value)
        if array.ndim != 4:
            advice = f": put one picture into a list, [{name}]" if array.ndim == 3 else ""
            raise ValueError(
                f"{name} has shape {array.shape}, but several pictures in colour have four axes, "
                f"such as (n, H, W, 3){advice}"
            )
        if not -4 <= axis < 4 or axis % 4 == 0:
            raise ValueError(
                f"channel_axis is {axis}, but must be 1, 2 or 3, or from -3 to -1: the first axis "
                f"of {name} counts pictures"
            )
        value = list(array)
    elif isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(
            f"{name} must be an array or a sequence of arrays, not {type(value).__name__}"
        )
    return [(f"{name}[{index}]", part) for index, part in enumerate(value)]


def rgb(name: str, value: Any, axis: int, needs_three: bool = True, finite: bool = True) -> Array:
    """Check one picture with channels, and move them to the last axis."""
    refuse_masked(name, value)
    array = numbers(name, value)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex, but colours are real numbers")
    if array.ndim != 3:
        raise ValueError(
            f"{name} has shape {array.shape}, but a picture in colour has three axes, such as "
            "(H, W, 3): leave colour and channel_axis out for grey pictures"
        )
    if not -3 <= axis < 3:
        raise ValueError(f"channel_axis is {axis}, but {name} has the axes 0, 1 and 2")
    moved = np.ascontiguousarray(np.moveaxis(array, axis, -1))
    count = moved.shape[-1]
    if moved.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: it is empty")
    if needs_three and count != 3:
        advice = {
            1: "which is grey: leave colour and channel_axis out, and pass its only channel",
            2: "not red, green and blue: drop an alpha channel, or pass colour='channels' for "
            "unrelated channels",
            4: "not red, green and blue: drop the alpha channel with [..., :3], convert CMYK to "
            "RGB, or pass colour='channels' for unrelated channels",
        }
        usual = "not red, green and blue: pass colour='channels' for unrelated channels"
        channels = f"{count} channel" + ("" if count == 1 else "s")
        raise ValueError(
            f"{name} has shape {array.shape} with {channels} along axis {axis}, "
            f"{advice.get(count, usual)}"
        )
    if finite:
        check_finite(name, moved)
    return moved


def with_weights(names: Any) -> list[str]:
    """Replace `alpha` by the weights of luminance and chroma, unless one of them is there."""
    made: list[str] = []
    for name in names:
        new = [weight for weight in WEIGHTS if weight not in names] if name == "alpha" else [name]
        made.extend(new)
    return made


def with_weight_values(values: Any) -> Any:
    """Give the value of `alpha` to both weights, as far as they have none of their own."""
    if not hasattr(values, "items") or "alpha" not in values:
        return values
    rest = {name: value for name, value in values.items() if name != "alpha"}
    return {**dict.fromkeys(WEIGHTS, values["alpha"]), **rest}

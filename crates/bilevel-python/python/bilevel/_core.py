"""The common part of all runs: the run of the module in Rust."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


class Core:
    """A run of the module in Rust, with what a result says about its images."""

    values: Sequence[float] = ()
    """The smallest and the largest value of the data, if they are known."""

    def __init__(
        self, run: Any, blocks: Iterable[tuple[str, Sequence[int]]], ndim: int, examples: str
    ) -> None:
        self._run, self.ndim, self.examples = run, ndim, examples
        self.blocks = {name: tuple(shape) for name, shape in blocks}

    def step(self) -> bool:
        """Do a step; false when the run has ended."""
        return bool(self._run.step())

    def has_ended(self) -> bool:
        return bool(self._run.has_ended())

    def progress(self) -> Any:
        return self._run.progress()

    def num_bytes(self) -> int:
        return int(self._run.bytes())

    def detach(self) -> None:
        """Close the directory of the run, if it has one."""
        self._run.detach()

    def finish(self) -> dict[str, Any]:
        """End the run, and return its result."""
        return dict(json.loads(self._run.finish()))

"""The progress bar, where tqdm is installed."""

from __future__ import annotations

import sys
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._arrays import rounded_up, with_error

if TYPE_CHECKING:
    from ._run import Run


def _is_watched() -> bool:
    """Whether a user sees the progress: in a terminal or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class Bar:
    """A progress bar of a run, or nothing."""

    def __init__(self, run: Run, max_points: int, shown: bool | None) -> None:
        self._run = run
        self._bar: Any = None
        if shown or (shown is None and _is_watched()):
            try:
                with warnings.catch_warnings():
                    # without widgets, tqdm falls back to text and warns
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm

                    self._bar = tqdm(total=max_points or None, unit="point", desc="learning")
            except ImportError:
                if shown:
                    raise ImportError("progress=True needs tqdm: pip install tqdm") from None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self) -> None:
        """Show the progress of the run."""
        if self._bar is not None:
            run = self._run
            self._bar.update(run.num_points - self._bar.n)
            self._bar.set_postfix_str(_objective(run.f, run.f_error), refresh=False)


def _objective(f: float, error: float) -> str:
    """The objective, or its upper bound where the error is large."""
    if error > 0.5 * abs(f):
        return f"f <= {rounded_up(f + error, 3)}"
    return f"f = {with_error(f, error, 4)}"

"""Ranks: processes that work on one run together, each with its own images.

A communicator of mpi4py connects them. This module does not import mpi4py.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# Kinds of exceptions that other ranks raise as well; for all others they raise a `RuntimeError`.
KINDS: Final = (ValueError, TypeError, ImportError, FileExistsError, FileNotFoundError)
# Signals that end a run on all ranks.
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# The largest length of messages that need a single exchange.
SHORT: Final = 7
# A second signal ends the process at once, but not if it comes within this many seconds: a terminal
# and `mpiexec` may both pass on one Ctrl-C.
ONE_SIGNAL: Final = 1.0


class Ranks:
    """The ranks of a communicator, or a single one without a communicator."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank, self.size = 0, 1
        self._signalled: float | None = None
        self._is_waiting = False
        if comm is not None:
            for name in ("Get_rank", "Get_size", "allgather"):
                if not callable(getattr(comm, name, None)):
                    raise TypeError(
                        "comm must be a communicator of mpi4py, such as MPI.COMM_WORLD, "
                        f"not {comm!r}"
                    )
            self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    @classmethod
    def of(cls, comm: Any) -> Ranks:
        """Return the ranks of a communicator, which may be `None`, or `comm` if it is ranks."""
        return comm if isinstance(comm, cls) else cls(comm)

    def or_none(self) -> Ranks | None:
        """Return these ranks for the module in Rust, or `None` without a communicator."""
        return None if self.comm is None else self

    def gather(self, own: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the numbers of all ranks, in the order of the ranks."""
        if not hasattr(self.comm, "Allgatherv"):
            return [np.asarray(part, dtype=np.float64) for part in self.comm.allgather(own)]
        # all ranks must know the lengths; short messages travel along with theirs
        head, heads = np.zeros(1 + SHORT), np.empty((self.size, 1 + SHORT))
        head[0] = own.size
        head[1 : 1 + own.size] = own[:SHORT]
        self.comm.Allgather(head, heads)
        counts = [int(count) for count in heads[:, 0]]
        if max(counts) <= SHORT:
            return [row[1 : 1 + count].copy() for row, count in zip(heads, counts)]
        everything = np.empty(sum(counts))
        self.comm.Allgatherv(own, [everything, counts])
        return np.split(everything, np.cumsum(counts)[:-1])

    def shared(self, own: Any) -> list[Any]:
        """Return the objects of all ranks, in the order of the ranks."""
        return [own] if self.comm is None else list(self.comm.allgather(own))

    @contextlib.contextmanager
    def agreed(self) -> Iterator[None]:
        """Raise an exception of one rank on all ranks.

        The others raise one of the same kind, whose message names the rank.
        """
        if self.comm is None:
            yield
            return
        failure: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failure = error
        self._raise(self.shared(_words(failure)), failure)

    def _raise(self, words: list[Any], own: BaseException | None) -> None:
        if own is not None:
            raise own
        for rank, found in enumerate(words):
            if found is not None:
                index, text = found
                kind = RuntimeError if index is None else KINDS[index]
                raise kind(f"rank {rank}: {text}")

    def any_ends(self, ends: Callable[[], bool]) -> bool:
        """Return whether `ends` is true on one of the ranks.

        An exception on one rank is raised on all, as by `agreed`. After a signal on one rank, all
        ranks raise `KeyboardInterrupt`.
        """
        if self.comm is None:
            return ends()
        failure: BaseException | None = None
        own = False
        try:
            own = ends()
        except BaseException as error:
            failure = error
        signalled, self._signalled = self._signalled is not None, None
        found = self.shared((_words(failure), own, signalled))
        self._raise([words for words, _, _ in found], failure)
        if any(signalled for _, _, signalled in found):
            raise KeyboardInterrupt
        return any(own for _, own, _ in found)

    @contextlib.contextmanager
    def waiting_signals(self) -> Iterator[None]:
        """Let the first signal wait until all ranks know of it, and end together.

        Otherwise Ctrl-C would end one rank, and the others would wait for it forever. A second
        signal ends the process at once.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if self.comm is None or self._is_waiting or not is_main:
            yield
            return

        def note(number: int, _: Any) -> None:
            now = time.monotonic()
            if self._signalled is None:
                self._signalled = now
            elif now > self._signalled + ONE_SIGNAL:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)

        before = {number: signal.getsignal(number) for number in SIGNALS}
        self._is_waiting = True
        try:
            for number in SIGNALS:
                signal.signal(number, note)
            yield
        finally:
            self._is_waiting = False
            for number, handler in before.items():
                # `None` is a handler that was not installed from Python
                if handler is not None:
                    signal.signal(number, handler)


def _words(error: BaseException | None) -> tuple[int | None, str] | None:
    """What the other ranks are told of an exception: its kind and its message."""
    if error is None:
        return None
    kinds = (index for index, kind in enumerate(KINDS) if isinstance(error, kind))
    index = next(kinds, None)
    text = str(error)
    if index is None and not isinstance(error, RuntimeError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return index, text

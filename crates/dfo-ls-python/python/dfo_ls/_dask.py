"""Evaluations on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from importlib import import_module
from typing import Any


def client_of(executor: Executor) -> Any:
    """Returns the client behind an executor of Dask; ``None`` for any other executor."""
    is_dask = type(executor).__module__.partition(".")[0] == "distributed"
    return getattr(executor, "_client", None) if is_dask else None


def submit(executor: Executor, fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that evaluates ``fun`` on a cluster and returns a future.

    It gives the client of ``executor`` the evaluations directly. The executor itself computes calls
    with equal arguments only once, but a noisy simulator needs them all; and it waits for ever if
    the scheduler dies while a result is on its way.
    """
    client = client_of(executor)
    if client.status in ("closing", "closed"):
        raise ConnectionError(
            "the Dask client of executor is closed: connect another client, and pass its executor"
        )
    # a dependency of Dask, so that workers have it too
    packed = import_module("cloudpickle").dumps(fun)

    # Pickled by value, because it is a local function: workers need not have dfo_ls.
    def evaluate(packed: bytes, *args: Any) -> Any:
        from pickle import loads

        return loads(packed)(*args)

    # A worker that cannot import the module of a task ends, as do its successors, for ever. An
    # error within a task is reported.
    options = {**getattr(executor, "_kwargs", {}), "pure": False}
    return partial(client.submit, evaluate, packed, **options)

"""The program `bilevel`, as it is installed with this package: `bilevel --help`."""

from __future__ import annotations

import signal
import sys

from . import _bilevel


def main() -> int:
    """Run the program with the arguments of this process, and return its exit code."""
    # Python's own handler notes Ctrl-C and waits for the next line of Python, which is never
    # reached here. Without it Ctrl-C ends the process; while the program learns, it has a handler
    # that saves the run first.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _bilevel.main(["bilevel", *sys.argv[1:]])

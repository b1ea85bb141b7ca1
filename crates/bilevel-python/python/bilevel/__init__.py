from ._bilevel import __version__

from ._dfo_ls import __version__

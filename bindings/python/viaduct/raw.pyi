"""Viaduct's native layer, by the name that users know; _viaduct.pyi has its functions."""

from ._viaduct import *

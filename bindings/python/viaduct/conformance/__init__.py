"""How well a library exchanges arrays by DLPack and the CUDA array interface: `python -m viaduct.conformance MODULE`.

A hostile producer hands the library every tensor that DLPack allows and many that it forbids, in both forms; a checking
consumer takes the library's own arrays apart. Both are ctypes alone. Rows run in child processes, so that a library
that ends the process over one loses that row and no other.
"""

from ._peers import PEERS, Peer
from ._producer import Producer
from ._reader import Broken
from ._run import Report, check

__all__ = ["PEERS", "Broken", "Peer", "Producer", "Report", "check"]

"""Hides every peer but NumPy from the programs that have this folder on PYTHONPATH, as `./dev test` has: what it runs
does not depend on what `./dev test --all` has installed, and waits for none of their imports."""

import sys
from importlib.machinery import ModuleSpec

PEERS = {"dask", "distributed", "gguf", "jax", "mpi4py", "pyarrow", "ray", "safetensors", "tensorflow", "torch"}


class HiddenPeers:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in PEERS:
            raise ModuleNotFoundError(f"No module named {name!r}: ./dev test hides it", name=name)
        return None


sys.meta_path.insert(0, HiddenPeers())  # type: ignore[arg-type]

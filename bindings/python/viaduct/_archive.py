"""Archives: named arrays of one or more files, read into one buffer of memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _conversion, _file
from ._extension import raw


def _paths(path: Any) -> list[Any]:
    """Returns one path, or those of a list."""
    is_list = isinstance(path, (list, tuple))
    if is_list and not path:
        raise raw.InvalidArgumentError("Archive: path is an empty list; expected a path")
    return [os.fspath(each) for each in path] if is_list else [os.fspath(path)]


class Archive(Mapping[str, raw.File]):
    """The tensors of files by name, each as a window of its file; `load` reads them all.

    The path is that of a safetensors, .npz or GGUF file, of an index (`*.safetensors.index.json`) or of a directory
    with safetensors files or an index; or a list of such paths. Opening reads the headers only, and checks them
    strictly. `metadata` is a dict of the headers' texts.
    """

    __slots__ = ("__weakref__", "_handle", "_path")

    def __init__(self, path: Any, *, page_cache: str = "auto") -> None:
        first, *rest = _paths(path)
        self._path = None if rest else first  # for the texts of windows
        options = {"page_cache": _conversion.choose("Archive", "page_cache", _file._PAGE_CACHES, page_cache)}
        self._handle = raw.via_archive_open(first, options)
        for each in rest:
            raw.via_archive_add(self._handle, each)

    def __len__(self) -> int:
        return raw.via_archive_size(self._handle)

    def __iter__(self) -> Iterator[str]:
        return (self._name(number) for number in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, name: str) -> raw.File:
        number = self._find(name) if isinstance(name, str) else None
        if number is None:
            raise KeyError(name)
        window = raw.via_archive_file(self._handle, number)
        info = raw.via_file_info(window)
        axes = tuple(range(len(info["shape"])))
        window._set_given(_file._Given(info["dtype"], info["shape"], axes, self._path, "r"))
        return window

    def __repr__(self) -> str:
        return f"<viaduct.Archive of {len(self)} tensors, {self.nbytes} bytes>"

    def _find(self, name: str) -> int | None:
        """Returns the number of a tensor. No tensor has a name with NUL, or that is no UTF-8."""
        try:
            return raw.via_archive_find(self._handle, name)
        except (raw.OutOfRangeError, raw.InvalidArgumentError, UnicodeEncodeError, ValueError):
            return None

    def _name(self, number: int) -> str:
        return str(raw.via_archive_name(self._handle, number))

    def type_name(self, name: str) -> str:
        """The name of a tensor's type in its format, such as BF16, or Q4_K for blocks that are arrays of uint8."""
        return str(raw.via_archive_type_name(self._handle, raw.via_archive_find(self._handle, name)))

    @property
    def nbytes(self) -> int:
        """The bytes of a buffer that holds all tensors."""
        return raw.via_archive_nbytes(self._handle)

    @property
    def metadata(self) -> dict[str, str]:
        """The texts of the headers by name; of a name in several files, the first file's."""
        found: dict[str, str] = json.loads(raw.via_archive_metadata(self._handle))
        return found

    def load(
        self, names: Any = None, device: Any = "cpu", *, to: Any = None, stream: Any = None, dtype: Any = None
    ) -> dict[str, Any]:
        """Reads the tensors of `names`, or all, to a device, into one allocation of which each is a view.

        With `to`, converts each as Array.to does: `to=torch.Tensor`. With `dtype`, converts tensors of floats to it on
        the way; others stay as they are.
        """
        if isinstance(names, str):
            raise raw.DTypeError(f"load: names is the str {names!r}; expected a list of names")
        wanted = list(self) if names is None else list(names)
        chosen = raw.via_archive_select(self._handle, [raw.via_archive_find(self._handle, name) for name in wanted])
        if dtype is not None:
            raw.via_archive_convert(chosen, -1, raw._dtype_number("load", dtype), None)
        buffer = raw.empty((raw.via_archive_nbytes(chosen),), raw.VIA_UINT8, device=device)
        order = _file._as_stream(_file._after(buffer, stream))
        if raw._is_inside_callback():
            raw.via_archive_read(chosen, buffer, order)
        else:
            _file._finish(raw.via_archive_read_submit(chosen, buffer, order))
        found = (raw.via_archive_array(chosen, number, buffer) for number in range(len(wanted)))
        return {name: array if to is None else array.to(to) for name, array in zip(wanted, found, strict=True)}

    def astype(self, name: str, dtype: Any, *, casting: str = "same_kind", overflow: str = "infinity") -> None:
        """Reads a tensor as another dtype from now on, for windows and loads; converts on the way, as convert() does.

        Nothing else may use the archive meanwhile.
        """
        options, _ = _conversion.options("Archive.astype", (), 0, casting=casting, overflow=overflow)
        number = raw._dtype_number("Archive.astype", dtype)
        raw.via_archive_convert(self._handle, raw.via_archive_find(self._handle, name), number, options)

    def slice(self, name: str, axis: int, start: int, count: int) -> None:
        """Reduces a tensor to `count` indices of an axis, from `start` on, for windows and loads.

        Nothing else may use the archive meanwhile.
        """
        raw.via_archive_slice(self._handle, raw.via_archive_find(self._handle, name), axis, start, count)


class Safetensors(dict[str, raw.File]):
    """The tensors of a .safetensors file by name, and its `metadata`: a dict of texts, empty if it has none."""

    __slots__ = ("metadata",)

    metadata: dict[str, str]


def open_safetensors(path: Any, *, page_cache: str = "auto") -> Safetensors:
    """Opens the tensors of a .safetensors file by name, each as a window of the file, as Archive does.

    The file's other texts are its `metadata`. Each tensor is read, mapped and sliced like any file:
    `open_safetensors(path)["weight"].read(device="cuda:0")`. The whole header is checked; float4 and float6 tensors are
    refused.
    """
    archive = Archive(os.fspath(path), page_cache=page_cache)
    found = Safetensors(archive.items())
    found.metadata = archive.metadata
    return found


def _ends_with(path: Any, *suffixes: str) -> str | None:
    """Returns the suffix that a path has."""
    name = "" if isinstance(path, (list, tuple)) else os.fsdecode(path)
    return next((suffix for suffix in suffixes if name.endswith(suffix)), None)


def load(
    path: Any,
    device: Any = "cpu",
    *,
    names: Any = None,
    to: Any = None,
    stream: Any = None,
    page_cache: str = "auto",
    dtype: Any = None,
) -> Any:
    """Reads a file to a device: the array of a .npy file, otherwise a dict of the tensors of an Archive.

    With `dtype`, converts floats to it on the way; the numbers of a .npy file whatever they are.
    """
    if _ends_with(path, ".npy") is None:
        return Archive(path, page_cache=page_cache).load(names, device, to=to, stream=stream, dtype=dtype)
    if names is not None:
        raise raw.InvalidArgumentError("load: names are given for a .npy file, which has one array; expected None")
    with _file.open(path, format="npy", page_cache=page_cache) as file:
        array = file.read(device=device, stream=stream, astype=dtype)
    return array if to is None else array.to(to)


def save(
    path: Any,
    arrays: Any,
    *,
    metadata: Mapping[str, str] | None = None,
    shard_bytes: int = 0,
    durable: bool = False,
    page_cache: str = "auto",
    stream: Any = None,
) -> None:
    """Writes arrays of any library by name to a safetensors file; one array to a .npy file, or to a raw one.

    With `shard_bytes`, writes several files of so many bytes, and their index. A file replaces what had its path when it
    is complete; a failure leaves nothing. `durable` content survives a power cut.
    """
    if not isinstance(arrays, Mapping):
        if metadata is not None or shard_bytes != 0:
            raise raw.InvalidArgumentError("save: metadata or shard_bytes is given for one array; expected a dict")
        suffix = _ends_with(path, ".npz", ".gguf", ".safetensors")
        if suffix is not None:
            raise raw.InvalidArgumentError(
                f"save: path ends in {suffix} for one array; expected a .npy or raw file's, or a dict"
            )
        _save_one(path, raw.asarray(arrays), durable, page_cache, stream)
        return
    suffix = _ends_with(path, ".npy", ".npz", ".gguf")
    if suffix is not None:
        raise raw.InvalidArgumentError(
            f"save: path ends in {suffix} for a dict; expected a safetensors file's, or one array"
        )
    given = {name: raw.asarray(array) for name, array in arrays.items()}
    options = {
        "durable": int(durable),
        "page_cache": _conversion.choose("save", "page_cache", _file._PAGE_CACHES, page_cache),
    }
    texts = None if metadata is None else json.dumps(dict(metadata))
    names, each = list(given), list(given.values())
    reached = next((array for array in each if array.device != "cpu"), None)
    order = _file._as_stream(stream if reached is None else _file._after(reached, stream))
    if raw._is_inside_callback():
        raw.via_archive_save(path, each, names, texts, shard_bytes, options, order)
    else:
        _file._finish(raw.via_archive_save_submit(path, each, names, texts, shard_bytes, options, order))


def _save_one(path: Any, array: raw.Array, durable: bool, page_cache: str, stream: Any) -> None:
    options: dict[str, Any] = {"atomic": True, "durable": durable, "page_cache": page_cache}
    with _file.open(path, "w", dtype=array.dtype, shape=array.shape, **options) as file:
        file.write(array, stream=stream)

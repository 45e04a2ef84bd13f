"""Files that a model names: the one place that opens them, and reads them into arrays.

A file is judged on its descriptor, so that what is checked is what is read: it must be a regular
file and lie in the model's folder once links are resolved. In a Hugging Face cache
(`.../snapshots/<revision>/...`) the folder `blobs`, to which its links point, counts as inside.
Bytes are read, never mapped: a file that shrinks later cannot hurt.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nnvm_mlir.errors import LoadError

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_DIGITS_OF_INT64 = 19


@contextmanager
def open_regular(path: str | Path, flags: int = 0) -> Iterator[int]:
    """A descriptor of a regular file; a FIFO, device or directory is refused without blocking.

    Raises:
        LoadError: it cannot be opened, or is not a regular file.
    """
    try:
        descriptor = os.open(path, _FLAGS | flags)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LoadError(f"cannot open {str(path)!r}: {reason}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LoadError(f"{str(path)!r} is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def read_external(
    entries: Mapping[str, str],
    folder: Path | None,
    dtype: np.dtype,
    shape: tuple[int, ...],
    what: str,
) -> np.ndarray:
    """The array that `external_data` entries describe, read straight into its own memory.

    Args:
        entries: `location` and optionally `offset` and `length`.
        folder: folder of the model file; None when the model did not come from a file.
        dtype: element type; the file is little-endian.
        shape: dimensions, already checked.
        what: names the tensor in messages.

    Raises:
        LoadError: the file is missing, outside the folder or not regular, or lacks the bytes.
    """
    location = entries.get("location", "")
    if not location or "\0" in location:
        raise LoadError(f"{what} has external data without a valid location ({location!r})")
    if folder is None:
        raise LoadError(
            f"{what} has external data in {location!r}, but the model was not given as a path;"
            " give the path of the model file"
        )
    array = None
    with _open_inside(folder, location, what) as descriptor:
        size = os.fstat(descriptor).st_size
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", size - offset, what)
        expected = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if offset > size or length < 0 or length > size - offset:
            raise LoadError(
                f"{what} claims bytes {offset} to {offset + length} of {location!r},"
                f" which has {size}"
            )
        if length != expected:
            raise LoadError(f"{what} needs {expected} bytes, its external data has {length}")
        array = np.empty(shape, dtype)
        _read_into(descriptor, offset, array, location, what)
    return array


@contextmanager
def _open_inside(folder: Path, location: str, what: str) -> Iterator[int]:
    roots = _allowed_folders(folder)
    resolved = os.path.realpath(folder / location)

    def require_inside(path: str) -> None:
        if not any(Path(path).is_relative_to(root) for root in roots):
            raise LoadError(f"{what}: external data {location!r} lies outside the model's folder")

    require_inside(resolved)
    with open_regular(resolved, getattr(os, "O_NOFOLLOW", 0)) as descriptor:
        require_inside(_descriptor_path(descriptor, resolved))
        yield descriptor


def _allowed_folders(folder: Path) -> list[Path]:
    absolute = Path(os.path.abspath(folder))
    allowed = [Path(os.path.realpath(absolute))]
    for revision in (absolute, *absolute.parents):
        if revision.parent.name == "snapshots":
            allowed.append(Path(os.path.realpath(revision.parent.parent / "blobs")))
    return allowed


def _descriptor_path(descriptor: int, opened: str) -> str:
    """Where an open file really is: its path may have been swapped after it was resolved."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(opened)


def _number(entries: Mapping[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_OF_INT64):
        raise LoadError(f"{what} has external data with {key} {text[:40]!r}, not a byte count")
    return int(text)


def _read_into(descriptor: int, offset: int, array: np.ndarray, location: str, what: str) -> None:
    if not array.nbytes:
        return
    target = array.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], offset + done)
        if count == 0:
            raise LoadError(f"{what}: {location!r} ended while it was read")
        done += count

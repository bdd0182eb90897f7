"""SQLite's own file-system interface (VFS), with its writes passed to a Python object first.

A shim over the default VFS: files are opened by the original one, then `xWrite`, `xTruncate` and `xSync` of each file
in a watched folder, and deletions there, are offered to its `Watching`, which says whether they take place. Reads,
locks and shared memory are the original's. Registered once per process as the default, so the product's code opens
its database as ever; files in folders that nobody watches are not touched.
"""

import _sqlite3
import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, string_at
from pathlib import Path
from typing import Any, Protocol

OK, FULL, IO_ERROR = 0, 13, 10
_CANNOT_OPEN = 14


class Watching(Protocol):
    """What is asked before something in a folder is changed; anything but OK is SQLite's error code."""

    def write(self, path: str, offset: int, data: bytes) -> int:
        """Some bytes of a file."""
        ...

    def truncate(self, path: str, size: int) -> int:
        """A file is cut."""
        ...

    def sync(self, path: str) -> int:
        """All earlier writes of a file are to be durable; never passed on, so that histories are quick."""
        ...

    def delete(self, path: str, durably: bool) -> int:
        """A file is removed."""
        ...


# Names as addresses: SQLite keeps the address that its VFS was given.
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(Structure):
    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _Open),
        ("delete", _Delete),
        ("others", c_void_p * 13),
    ]


class _Methods(Structure):
    _fields_ = [
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", _Write),
        ("truncate", _Truncate),
        ("sync", _Sync),
        ("others", c_void_p * 13),
    ]


class _Shim:
    """The registered VFS. Everything SQLite points to is kept here for as long as the process lives."""

    def __init__(self) -> None:
        self.watched: dict[str, Watching] = {}
        self._paths: dict[int, str] = {}
        """Path of each open file, by the address of SQLite's structure."""
        self._tables: dict[int, _Methods] = {}
        """Our table of methods for each original one, by its address."""
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = c_void_p
        original = _Vfs.from_address(library.sqlite3_vfs_find(None))
        self._open, self._delete = original.open, original.delete
        self._vfs = _Vfs.from_buffer_copy(original)
        self._vfs.name = b"watched"
        self._vfs.open, self._vfs.delete = _Open(self._on_open), _Delete(self._on_delete)
        library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1)

    def _watching(self, path: str) -> Watching | None:
        return self.watched.get(os.path.dirname(path))

    def _on_open(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        found: int = self._open(vfs, name, file, flags, out)
        if found == OK and name is not None and self._watching(path := string_at(name).decode()) is not None:
            methods = c_void_p.from_address(file)  # the first member of the structure
            if methods.value:
                self._paths[file] = path
                methods.value = ctypes.addressof(self._table(methods.value))
        return found

    def _table(self, address: int) -> _Methods:
        table = self._tables.get(address)
        if table is None:
            original = _Methods.from_address(address)
            table = self._tables[address] = _Methods.from_buffer_copy(original)
            write, truncate = original.write, original.truncate

            def on_write(file: int, data: int, size: int, offset: int) -> int:
                watching = self._watching(path := self._paths[file])
                refused = watching.write(path, offset, string_at(data, size)) if watching else OK
                return refused or int(write(file, data, size, offset))

            def on_truncate(file: int, size: int) -> int:
                watching = self._watching(path := self._paths[file])
                refused = watching.truncate(path, size) if watching else OK
                return refused or int(truncate(file, size))

            def on_sync(file: int, flags: int) -> int:
                watching = self._watching(path := self._paths[file])
                return watching.sync(path) if watching else OK

            table.write, table.truncate, table.sync = _Write(on_write), _Truncate(on_truncate), _Sync(on_sync)
        return table

    def _on_delete(self, vfs: int, name: int, durably: int) -> int:
        watching = self._watching(path := string_at(name).decode())
        if watching is None or not os.path.exists(path):
            return int(self._delete(vfs, name, durably))
        return watching.delete(path, bool(durably)) or int(self._delete(vfs, name, 0))


_shims: list[_Shim] = []


def reachable() -> bool:
    """Whether the SQLite that Python uses lets itself be given a VFS: one that is linked statically may not."""
    return hasattr(ctypes.CDLL(getattr(_sqlite3, "__file__", None)), "sqlite3_vfs_register")


def watch(folder: Path, watching: Watching) -> None:
    """Offer the changes of files in a folder, opened from now on, to an object."""
    if not _shims:
        _shims.append(_Shim())
    _shims[0].watched[str(folder)] = watching


def unwatch(folder: Path) -> None:
    """Let a folder be; its files must be closed."""
    del _shims[0].watched[str(folder)]

"""What pool and worker say to each other: frames of a length and JSON, over one socket.

A request is `[key, script]` to have a script compiled, or `[key, function names, arguments, references, result]` to
have one of its functions called; `references` is how many of the arguments say what an empty table is. An answer is
`[class, message]` or `["", results]`.
"""

from enum import StrEnum
from struct import Struct

LENGTH = Struct("!I")
LARGEST_ANSWER = 4 * 2**20
"""No API server stores an object of this size, and reading one takes the event loop a few milliseconds."""
READY = b"[]"
WITH_PRIORITY = "with-priority"
"""Informs a worker that requirements name the priority class."""


class Result(StrEnum):
    """What a function has to return."""

    REPLICAS = "replicas"
    """A number, and what one replica needs or nothing."""
    BOOLEAN = "boolean"
    TABLE = "table"
    TABLE_OR_NIL = "table-or-nil"


class ErrorClass(StrEnum):
    """Why a call failed."""

    TIMEOUT = "timeout"
    FUNCTION_NOT_FOUND = "function-not-found"
    NOT_A_FUNCTION = "not-a-function"
    SYNTAX = "syntax"
    FORBIDDEN_FUNCTION = "forbidden-function"
    WRONG_RETURN_TYPE = "wrong-return-type"
    ENCODE = "encode"
    CONVERT = "convert"
    MEMORY = "memory"
    RUNTIME = "runtime"


def frame(message: bytes) -> bytes:
    return LENGTH.pack(len(message)) + message

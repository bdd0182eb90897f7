"""One Lua state, the scripts it has compiled, and calls of their functions. Runs inside a worker."""

from pathlib import Path
from typing import Any, NamedTuple

from lupa import luajit21 as lupa

from karmada.interpreter.lua.kube import HelperError, helpers, lua_type, preload
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.lua.tables import EncodeError, Tables

MEMORY = 64 * 2**20
_NOT_SUPPORTED = ("is not supported in karmada customized resourceinterpreter", "is not supported by Karmada")
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1


class CallFailed(Exception):
    """A call that failed, and how."""

    def __init__(self, error_class: ErrorClass, message: str) -> None:
        self.error_class = error_class
        super().__init__(message)


class Call(NamedTuple):
    """One call: the first of the named functions that the script defines."""

    names: list[str]
    arguments: list[Any]
    references: int
    result: Result


class Engine:
    """Not shared between processes or threads. After a memory error the state is unusable."""

    def __init__(self, *, with_priority: bool = False) -> None:
        self._helpers = helpers(with_priority=with_priority)
        self._lua = lupa.LuaRuntime(
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_no_attributes,
            max_memory=MEMORY,
        )
        self._scripts: dict[str, Any] = {}
        self._tables: Tables
        source = Path(__file__).with_name("sandbox.lua").read_text()
        sandbox = self._lua.compile(source)
        self._compile, self._call, self._make_lazy, self._handle_of = sandbox(self._fetch, self._kube)

    def load(self, key: str, script: str) -> None:
        """Compile a script once; calls name it by its key. What its helpers need is imported here, not in a call."""
        if "kube" in script:
            preload()
        compiled = self._compile(script)
        if isinstance(compiled, tuple):
            raise CallFailed(ErrorClass.SYNTAX, str(compiled[1]))
        self._scripts[key] = compiled

    def call(self, key: str, call: Call) -> Any:
        """The result, as the parts of an answer."""
        self._tables = tables = Tables(self._lua.table, self._make_lazy, self._handle_of, lupa.lua_type)
        arguments = self._lua.table()
        for index, argument in enumerate(call.arguments, 1):
            arguments[index] = tables.to_lua(argument)
        try:
            found = self._call(self._scripts[key], self._lua.table_from(call.names), arguments, len(call.arguments))
        except lupa.LuaMemoryError as error:
            raise CallFailed(ErrorClass.MEMORY, "not enough memory") from error
        except lupa.LuaError as error:
            raise _failure(str(error).partition("\nstack traceback:")[0]) from error
        word, *values = found if isinstance(found, tuple) else (found,)
        if word == "function-not-found":
            raise CallFailed(ErrorClass.FUNCTION_NOT_FOUND, f"not found function {call.names[0]}")
        if word == "not-a-function":
            raise CallFailed(ErrorClass.NOT_A_FUNCTION, f"{call.names[0]} is not a function: {values[0]}")
        values += [None, None]
        try:
            return self._result(call, values)
        except (EncodeError, UnicodeDecodeError, RecursionError) as error:
            raise CallFailed(ErrorClass.ENCODE, f"encode lua result to json failed: {error}") from error

    def _result(self, call: Call, values: list[Any]) -> Any:
        first = values[0]
        kind = lupa.lua_type(first) or lua_type(first)
        references = call.arguments[: call.references]
        match call.result:
            case Result.REPLICAS:
                if kind != "number":
                    raise _wrong_type("number", kind)
                needs = lupa.lua_type(values[1]) or lua_type(values[1])
                if needs not in ("table", "nil"):
                    raise _wrong_type("table", needs)
                return [_int32(first), self._tables.to_tree(values[1])]
            case Result.BOOLEAN if kind != "boolean":
                raise _wrong_type("bool", kind)
            case Result.TABLE if kind != "table":
                raise _wrong_type("table", kind)
            case Result.TABLE_OR_NIL if kind not in ("table", "nil"):
                raise _wrong_type("table", kind)
        return self._tables.to_tree(first, references)

    def _fetch(self, handle: int, table: Any) -> None:
        self._tables.fetch(int(handle), table)

    def _kube(self, name: str, count: int, *arguments: Any) -> Any:
        """Never raises: an exception would reach the script as a Python object. Gives (error, result)."""
        try:
            decoded = [self._tables.to_tree(argument) for argument in arguments]
            decoded += [None] * (int(count) - len(decoded))
            result = self._helpers[name](decoded)
            return None, self._tables.to_lua(result)
        except (HelperError, EncodeError) as error:
            return str(error), None
        except Exception as error:
            return f"{name}: {type(error).__name__}", None


def _no_attributes(_: Any, name: Any, setting: bool) -> str:
    raise AttributeError(f"{name} is not accessible")


def _failure(message: str) -> CallFailed:
    forbidden = any(text in message for text in _NOT_SUPPORTED)
    return CallFailed(ErrorClass.FORBIDDEN_FUNCTION if forbidden else ErrorClass.RUNTIME, message)


def _wrong_type(wanted: str, found: str) -> CallFailed:
    return CallFailed(ErrorClass.WRONG_RETURN_TYPE, f"the function has to return a {wanted}, not {found}")


def _int32(number: float) -> int:
    """Cut to a whole number; what does not fit is what the reference's machine makes of it."""
    if number != number or not _SMALLEST - 1 < number < _LARGEST + 1:
        return _SMALLEST
    return int(number)

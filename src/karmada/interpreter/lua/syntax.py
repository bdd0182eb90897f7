"""Whether a script can be parsed, without running it. For admission."""

from typing import Any

_parser: list[Any] = []


def syntax_error(script: str) -> str:
    """What is wrong with a script; empty when nothing is. The engine is loaded with the first question."""
    from lupa import luajit21 as lupa

    if not _parser:
        runtime = lupa.LuaRuntime(register_eval=False, register_builtins=False, unpack_returned_tuples=True)
        _parser.append(runtime.eval('function(script) return load(script, "=<string>", "t") end'))
    parsed = _parser[0](script)
    return str(parsed[1]) if isinstance(parsed, tuple) else ""

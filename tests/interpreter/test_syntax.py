"""Scripts are parsed, not run, when they are admitted."""

import pytest

from karmada.interpreter.lua.syntax import syntax_error

WRONG = {
    "missing bracket": "function GetReplicas(obj\n  return 1\nend",
    "integer division": "return 7 // 2",
    "compiled code": "\x1bLJ\x02",
}


@pytest.mark.parametrize("script", WRONG.values(), ids=WRONG)
def test_wrong_script_is_described(script: str) -> None:
    assert syntax_error(script)


@pytest.mark.parametrize("script", ["", "function F() goto done ::done:: return 1 end", "while true do end"])
def test_right_script_has_no_error_and_is_not_run(script: str) -> None:
    assert syntax_error(script) == ""

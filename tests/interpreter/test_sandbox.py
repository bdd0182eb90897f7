"""Scripts that try to harm: each must end in a typed failure or be harmless, and the pool must go on working."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from karmada.interpreter.lua.pool import Limits, Pool, Script, ScriptError
from karmada.interpreter.lua.protocol import ErrorClass, Result

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENT = Limits(workers=1, call_seconds=30)
STRICT = Limits(workers=1, call_seconds=0.5)
WIDGET = {"apiVersion": "example.io/v1", "kind": "Widget", "spec": {"replicas": 3}}

# A text of 2**n characters: string.rep is refused, doubling is not.
DOUBLE = "local s = 'a' for i = 1, {n} do s = s .. s end\n"

ENDLESS = {
    "loop": "while true do end",
    "loop in pcall": "while true do pcall(function() while true do end end) end",
    "error handler that loops": "xpcall(function() error('x') end, function() while true do end end)",
    "loop of a goto": "::again:: goto again",
    "pattern bomb": DOUBLE.format(n=14) + "string.find(s, '.-.-.-.-.-b')",
    "pattern bomb by method": DOUBLE.format(n=14) + "return s:match('(.-)(.-)(.-)(.-)x$')",
    "sort that never agrees": "local t = {} for i = 1, 1e5 do t[i] = i end "
    "while true do table.sort(t, function(a, b) return a < b end) end",
    "recursion caught again and again": "local function f() pcall(f) f() end while true do pcall(f) end",
    "memory caught again and again": "local function f() local t = {} while true do t[#t + 1] = {} end end "
    "while true do pcall(f) end",
    "iterator without end": "for w in string.gmatch('a', '()') do while true do end end",
}

FAILING = {
    "memory in a table": ("local t = {} while true do t[#t + 1] = {} end", {ErrorClass.MEMORY}),
    "memory in a text": (DOUBLE.format(n=40), {ErrorClass.MEMORY}),
    "memory by concatenation": (
        DOUBLE.format(n=20) + "local t = {} for i = 1, 1e4 do t[i] = s end return table.concat(t)",
        {ErrorClass.MEMORY},
    ),
    "deep recursion": ("local function f(n) return f(n + 1) + 1 end return f(1)", {ErrorClass.RUNTIME}),
    "recursion through pcall": (
        "local function f() local ok, e = pcall(f) if not ok then error(e, 0) end return 1 end return f() + nil",
        {ErrorClass.RUNTIME, ErrorClass.MEMORY, ErrorClass.TIMEOUT},
    ),
    "string.rep": ("return #string.rep('x', 1e9)", {ErrorClass.FORBIDDEN_FUNCTION}),
    "string.rep by method": ("return #(('x'):rep(1e9))", {ErrorClass.FORBIDDEN_FUNCTION}),
    "string.dump": ("return string.dump(function() end)", {ErrorClass.FORBIDDEN_FUNCTION}),
    "string.gsub by method": ("return ('x'):gsub('x', 'y')", {ErrorClass.FORBIDDEN_FUNCTION}),
    "files": ("return io.open('/etc/passwd'):read('*a')", {ErrorClass.RUNTIME}),
    "commands": ("return os.execute('id')", {ErrorClass.RUNTIME}),
    "exit": ("os.exit(0)", {ErrorClass.RUNTIME}),
    "environment variables": ("return os.getenv('HOME')", {ErrorClass.RUNTIME}),
    "removing files": ("os.remove('/tmp/x')", {ErrorClass.RUNTIME}),
    "foreign functions": ("return require('ffi')", {ErrorClass.RUNTIME}),
    "sockets": ("return require('socket')", {ErrorClass.RUNTIME}),
    "loaded packages": ("return package.loaded", {ErrorClass.RUNTIME}),
    "debug library": ("return debug.getregistry()", {ErrorClass.RUNTIME}),
    "compiler control": ("jit.on()", {ErrorClass.RUNTIME}),
    "Python": ("return python.eval('1')", {ErrorClass.RUNTIME}),
    "metatable of strings": ("getmetatable('').__index = nil", {ErrorClass.FORBIDDEN_FUNCTION}),
    "metatables": ("return setmetatable({}, {__index = error})", {ErrorClass.FORBIDDEN_FUNCTION}),
    "code from text": ("return loadstring('return 1')()", {ErrorClass.FORBIDDEN_FUNCTION}),
    "environment of functions": ("return getfenv(0)", {ErrorClass.FORBIDDEN_FUNCTION}),
    "garbage collector": ("collectgarbage('stop')", {ErrorClass.FORBIDDEN_FUNCTION}),
    "coroutines": ("return coroutine.create(function() end)", {ErrorClass.RUNTIME}),
    "result that refers to itself": ("obj.self = obj return 1, obj", {ErrorClass.ENCODE}),
    "endless error": ("local e = {} e.e = e error(e)", {ErrorClass.RUNTIME}),
}

HARMLESS = {
    "writing to the output": ("for i = 1, 1000 do print(obj, i) end return 1", 1),
    "caught helper error has no Python in it": (
        "local ok, e = pcall(require('kube').resourceAdd, 'oops') return type(e) == 'string' and 1 or 2",
        1,
    ),
    "broken library copy": ("string.format, table.insert, math.floor = nil, nil, nil return 1", 1),
    "global left behind": ("counter = (counter or 0) + 1 return counter", 1),
    "helper of another call": ("local k = require('kube') k.mine = (k.mine or 0) + 1 return k.mine", 1),
}


def proc(pid: int, file: str) -> str:
    return Path(f"/proc/{pid}/{file}").read_text()


def function(body: str) -> Script:
    return Script.of(f"function GetReplicas(obj)\n{body}\nend")


async def call(pool: Pool, script: Script) -> Any:
    return await pool.call(script, ["GetReplicas"], [WIDGET], 0, Result.REPLICAS)


async def assert_goes_on(pool: Pool) -> None:
    assert await call(pool, function("return obj.spec.replicas")) == [3, None]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def patient() -> AsyncIterator[Pool]:
    pool = Pool(PATIENT)
    yield pool
    await pool.close()


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
async def test_endless_script_is_ended_by_its_limit(body: str) -> None:
    pool = Pool(STRICT)
    with pytest.raises(ScriptError) as failure:
        await call(pool, function(body))
    assert failure.value.error_class in (ErrorClass.TIMEOUT, ErrorClass.MEMORY)
    await pool.close()


@pytest.mark.parametrize(("body", "classes"), FAILING.values(), ids=FAILING)
async def test_harmful_script_fails_and_others_go_on(patient: Pool, body: str, classes: set[ErrorClass]) -> None:
    with pytest.raises(ScriptError) as failure:
        await call(patient, function(body))
    assert failure.value.error_class in classes
    await assert_goes_on(patient)


@pytest.mark.parametrize(("body", "replicas"), HARMLESS.values(), ids=HARMLESS)
async def test_nothing_outlives_a_call(patient: Pool, body: str, replicas: int) -> None:
    script = function(body)
    for _ in range(3):
        assert await call(patient, script) == [replicas, None]
    await assert_goes_on(patient)


async def test_compiled_code_is_no_script(patient: Pool) -> None:
    with pytest.raises(ScriptError) as failure:
        await call(patient, Script.of("\x1bLJ\x02\x02" + "\x00" * 20))
    assert failure.value.error_class is ErrorClass.SYNTAX
    await assert_goes_on(patient)


async def test_result_that_is_too_large_ends_the_call_and_others_go_on(patient: Pool) -> None:
    with pytest.raises(ScriptError):
        await call(patient, function(DOUBLE.format(n=23) + "return 1, { s = s }"))
    await assert_goes_on(patient)


async def test_endless_code_outside_of_functions_is_ended_too() -> None:
    pool = Pool(STRICT)
    with pytest.raises(ScriptError) as failure:
        await call(pool, Script.of("while true do end"))
    assert failure.value.error_class is ErrorClass.TIMEOUT
    await pool.close()


async def test_worker_sees_nothing_of_the_parents_environment(patient: Pool) -> None:
    await assert_goes_on(patient)
    (pid,) = patient.idle
    assert proc(pid, "environ") == ""


async def test_worker_can_neither_start_processes_nor_write_files(patient: Pool) -> None:
    await assert_goes_on(patient)
    (pid,) = patient.idle
    limits = proc(pid, "limits").splitlines()
    allowed = {line[:26].strip(): line[26:47].strip() for line in limits}
    assert allowed["Max processes"] == allowed["Max file size"] == allowed["Max core file size"] == "0"
    assert int(allowed["Max address space"]) <= 512 * 2**20

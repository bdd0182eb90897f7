"""Little languages: selectors, JSONPath, Go templates, CEL, Lua, quantities, cron schedules, continue tokens."""

import base64
from datetime import UTC, datetime
from random import Random
from typing import Any

import orjson
from tests.fuzz.shapes import NUMBERS, mutated_text, text, tree, word
from tests.fuzz.target import Target

from karmada.api import cron, field_selector, go_template, jsonpath, label_selector
from karmada.api.quantity import Quantity, QuantityError
from karmada.apiserver.cel.program import CompileError, EvaluationError, compile
from karmada.apiserver.requests import continuation
from karmada.interpreter.lua.syntax import syntax_error
from karmada.machinery.httpserver.failure import Failure

DATA: Any = {"a": [{"b": 1, "name": "x"}, {"b": "two"}], "items": [1, 2.5, None, True], "metadata": {"name": "web"}}


def _labels(r: Random) -> str:
    forms = (
        "{k}={v}",
        "{k}!={v}",
        "{k} in ({v},{w})",
        "{k} notin ({v})",
        "{k}",
        "!{k}",
        "{k}>{n}",
        "{k}<{n}",
        "{k}=={v}",
    )
    parts = [
        r.choice(forms).format(k=word(r), v=word(r), w=word(r), n=r.choice(NUMBERS)) for _ in range(r.randint(0, 24))
    ]
    return mutated_text(r, ",".join(parts))


def _run_labels(given: str) -> None:
    selector = label_selector.parse(given)
    assert str(label_selector.parse(str(selector))) == str(selector)
    for labels in ({}, {"a": "b"}, {"name": "web", "a": "5", "b": "", "c": "metadata"}):
        one_by_one = all(requirement.matches(labels) for requirement in selector.requirements)
        assert selector.matches(labels) == one_by_one


def _run_fields(given: str) -> None:
    selector = field_selector.parse(given)
    for fields in ({}, {"metadata": "name"}, {"a": "a", "b": ""}):
        assert selector.matches(fields) == all(term.matches(fields.get(term.field, "")) for term in selector.terms)


def _path(r: Random) -> str:
    steps = (
        ".a",
        ".b",
        "[0]",
        "[-1]",
        "[*]",
        "[0:2]",
        "[?(@.b==1)]",
        '[?(@.name=="x")]',
        "..",
        ".*",
        "['a','b']",
        ".items",
    )
    actions = ("{{{}}}", "{{range {}}}{{.b}}{{end}}", '{{{}}}{{"\\n"}}', "{{@{}}}", "{{${}}}")
    parts = [r.choice(actions).format("".join(r.choice(steps) for _ in range(r.randint(0, 5)))) for _ in range(3)]
    return mutated_text(r, "".join(parts[: r.randint(0, 3)]) + text(r, 1))


def _run_path(given: str) -> None:
    for parse in (jsonpath.parse, jsonpath.parse_path, jsonpath.parse_relaxed):
        try:
            parse(given).render(DATA, allow_missing=len(given) % 2 == 0)
        except jsonpath.JSONPathError:
            continue


def _template(r: Random) -> str:
    actions = (
        *("{{.a}}", "{{range .a}}", "{{end}}", "{{else}}", "{{if .b}}", "{{with .metadata}}", "{{$x := .a}}", "{{$x}}"),
        *("{{index .a 0}}", '{{len .a | printf "%d"}}', "{{- .items -}}", "{{range $i, $e := .a}}", "{{slice .a 1 9}}"),
        *(
            "{{eq .a .b}}",
            "{{/* c */}}",
            "{{base64decode .a}}",
            '{{printf "%s %v %-5d" .a .b 1}}',
            "{{not (and .a .b)}}",
        ),
        *("{{else if .a}}", '{{exists .a "b"}}', "{{lt 1 .b}}", "{{.metadata.name.x}}", "{{print .}}", "{{html .}}"),
    )
    return mutated_text(r, "".join(r.choice(actions) for _ in range(r.randint(0, 8))))


def _run_template(given: str) -> None:
    go_template.compile(given).render(DATA, allow_missing=len(given) % 2 == 0)


def _cel(r: Random, depth: int = 3) -> str:
    if depth <= 0 or r.random() < 0.3:
        return r.choice(("self", "self.a", "1", "'x'", "true", "[1,2]", "{'a': 1}", "oldSelf", "null", "1.5", "b'x'"))
    one, two = _cel(r, depth - 1), _cel(r, depth - 1)
    forms = (
        *(
            "{0} + {1}",
            "{0} == {1}",
            "{0} && {1}",
            "{0} ? {1} : {0}",
            "{0}.size()",
            "{0}.all(x, {1})",
            "{0}.map(x, {1})",
        ),
        *("{0} in {1}", "has({0}.a)", "{0}[{1}]", "{0}.matches({1})", "quantity({0})", "string({0})", "!{0}", "-{0}"),
        *("{0}.exists(x, x == {1})", "size({0})", "{0}.replace({1}, 'y')", "cel.bind(v, {0}, {1})", "optional.of({0})"),
        *(
            "duration({0})",
            "url({0})",
            "{0}.split({1})",
            "{0}.sort()",
            "format.dns1123Label().validate({0})",
            "ip({0})",
        ),
    )
    return r.choice(forms).format(one, two)


def _run_cel(given: str) -> None:
    program = compile(given, {"self": "dyn", "oldSelf": "dyn"})
    program.syntax()
    program.evaluate({"self": DATA, "oldSelf": {"a": "b"}})


def _lua(r: Random) -> str:
    lines = (
        *("function GetReplicas(obj)", "end", "return obj.spec.replicas", "local kube = require('kube')", "if x then"),
        *(
            "for i = 1, 10 do",
            "while true do",
            "x = {1, 2, a = {}}",
            "--[[",
            "]]",
            "[==[x",
            "goto x",
            "::x::",
            "x = ((",
        ),
        *("repeat until false", "x = 'a' .. \"b\"", "local function f(...) return ... end", "x.y:z()", "x = 0x1p4"),
    )
    return mutated_text(r, "\n".join(r.choice(lines) for _ in range(r.randint(0, 12))))


def _run_lua(given: str) -> None:
    assert isinstance(syntax_error(given), str)


def _quantity(r: Random) -> str:
    digits = r.choice(
        ("", "0", "1", "12", "0.5", ".5", "1.", "9" * r.randint(1, 40), "-1", "+3", "0." + "0" * 30 + "1")
    )
    return mutated_text(r, digits + r.choice(("", "m", "k", "Ki", "Mi", "E", "Ei", "e3", "E-9", "e400", "n", "u", "x")))


def _run_quantity(given: str) -> None:
    one = Quantity.parse(given)
    again = Quantity.parse(str(one))
    assert str(again) == str(one)
    str(one + again), one < again, one.value(), one.milli_value(), one.approximate_float(), one.as_int64()


def _schedule(r: Random) -> str:
    fields = ("*", "1", "*/5", "1-5", "1,2", "mon", "jan-mar", "0", "59", "60", "?", "1/2", "-1", "*/0", "5-1", "L", "")
    forms = (" ".join(r.choice(fields) for _ in range(r.choice((5, 5, 5, 4, 6)))), "@daily", "@every 90s", "@every x")
    return mutated_text(r, r.choice(("", "", "TZ=UTC ", "CRON_TZ=Europe/Berlin ", "TZ=../../x ")) + r.choice(forms))


def _run_schedule(given: str) -> None:
    schedule = cron.parse(given)
    for moment in (datetime(2024, 2, 29, 23, 59, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        schedule.next_run(moment)


def _token(r: Random) -> str:
    payload: Any = {"v": "meta.k8s.io/v1", "rv": r.choice(NUMBERS), "start": text(r).replace("\ud800", "")}
    payload = payload if r.random() < 0.7 else tree(r, 2)
    try:
        encoded = base64.urlsafe_b64encode(orjson.dumps(payload)).decode()
    except orjson.JSONEncodeError:
        encoded = "e30"
    return mutated_text(r, encoded)


TARGETS = (
    Target("label-selector", _labels, _run_labels, (label_selector.LabelSelectorError,)),
    Target("field-selector", _labels, _run_fields, (field_selector.FieldSelectorError,)),
    Target("jsonpath", _path, _run_path, ()),
    Target("go-template", _template, _run_template, (go_template.TemplateError,)),
    Target("cel", lambda r: mutated_text(r, _cel(r)), _run_cel, (CompileError, EvaluationError)),
    Target("lua", _lua, _run_lua, ()),
    Target("quantity", _quantity, _run_quantity, (QuantityError,)),
    Target("cron", _schedule, _run_schedule, (cron.CronError,)),
    Target("continue-token", _token, continuation.decode, (Failure,)),
)

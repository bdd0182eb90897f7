"""Formats: columns, Go templates, descriptions, taints."""

import asyncio
from io import StringIO
from typing import Any

import pytest

from karmada.api.go_template import TemplateError, compile
from karmada.cli.describe.generic import spelled
from karmada.cli.describe.page import Page
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.output.controls import Painted, shown
from karmada.cli.output.objects import renderer
from karmada.cli.output.tables import Listing, Style
from karmada.cli.output.tabs import aligned
from karmada.cli.output.tree import as_text
from karmada.cli.output.wrapping import fitted, wrapped
from karmada.cli.progress import Waiting
from karmada.cli.session import Session
from karmada.cli.taints import change, parse
from karmada.explain.tree import Node
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource

POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "web", "labels": {"app": "web", "a.b/c": "x"}},
    "spec": {"containers": [{"name": "one", "image": "a"}, {"name": "two", "image": "b"}], "replicas": 2},
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", "plain"),
        ("{{.metadata.name}}", "web"),
        ("{{.missing.field}}", "<no value>"),
        ("{{range .spec.containers}}{{.name}},{{end}}", "one,two,"),
        ("{{range $i, $c := .spec.containers}}{{$i}}={{$c.name}} {{end}}", "0=one 1=two "),
        ("{{range $k, $v := .metadata.labels}}{{$k}}:{{$v}};{{end}}", "a.b/c:x;app:web;"),
        ("{{range .nothing}}x{{else}}none{{end}}", "none"),
        ('{{if eq .kind "Pod"}}yes{{else}}no{{end}}', "yes"),
        ('{{if eq .kind "Job"}}a{{else if gt .spec.replicas 1}}b{{else}}c{{end}}', "b"),
        ("{{with .metadata}}{{.name}}{{end}}", "web"),
        ('{{index .metadata.labels "a.b/c"}}', "x"),
        ("{{len .spec.containers}}", "2"),
        ('{{printf "%s-%d" .metadata.name .spec.replicas}}', "web-2"),
        ('{{.metadata.name | printf "%q"}}', '"web"'),
        ("{{(index .spec.containers 1).image}}", "b"),
        ("{{$x := .kind}}{{$x}}", "Pod"),
        ("a {{- /* note */ -}} b", "ab"),
        ('{{.metadata.name}}{{"\\n"}}', "web\n"),
        ("{{and .kind .missing}}|{{or .missing .kind}}", "<no value>|Pod"),
    ],
)
def test_go_templates(template: str, expected: str) -> None:
    assert compile(template).render(POD) == expected


@pytest.mark.parametrize(
    "template", ["{{", "{{range .a}}", "{{end}}", "{{nosuch 1}}", "{{$x}}", "{{.kind.name}}", "{{#}}"]
)
def test_templates_that_make_no_sense_are_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        compile(template).render(POD)


def test_a_missing_key_can_be_an_error() -> None:
    with pytest.raises(TemplateError, match='no entry for key "x"'):
        compile("{{.x}}").render(POD, allow_missing=False)


def flags(output: str) -> Values:
    return Values(output=output, template="", no_headers=False, show_managed_fields=False)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("name", "pod/web\n"),
        ("custom-columns=N:.metadata.name,I:.spec.containers[*].image", "N     I\nweb   a,b\n"),
        ("custom-columns=N:metadata.name,X:.nope", "N     X\nweb   <none>\n"),
        ("jsonpath={.spec.containers[0].name}", "one"),
        ("jsonpath-as-json={.kind}", '[\n    "Pod"\n]\n'),
    ],
)
def test_formats(output: str, expected: str) -> None:
    render = renderer(flags(output))
    assert render is not None
    assert render([POD], False) == expected


@pytest.mark.parametrize(
    "output", ["xml", "jsonpath", "jsonpath={", "custom-columns=A", "go-template={{", "jsonpath-file=/no"]
)
def test_formats_that_make_no_sense_are_refused(output: str) -> None:
    with pytest.raises(CommandError):
        renderer(flags(output))


def test_columns_are_at_least_six_wide_and_the_last_is_not_padded() -> None:
    assert aligned([["A", "B"], ["x", "long"]]) == "A     B\nx     long\n"
    assert aligned([["名", "B"], ["xy", "z"]]) == "名    B\nxy    z\n"


def test_neighbouring_lines_of_a_page_line_up() -> None:
    page = Page()
    page.field(0, "Name", "x")
    page.field(0, "Namespace", "y")
    page.line(0, "Spec:")
    page.field(1, "A", 1)
    assert page.text() == "Name:       x\nNamespace:  y\nSpec:\n  A:  1\n"


@pytest.mark.parametrize(
    ("key", "expected"),
    [("apiVersion", "API Version"), ("uid", "UID"), ("a.b/c", "a.b/c"), ("id", "Id")],
)
def test_keys_are_spelled_with_blanks(key: str, expected: str) -> None:
    assert spelled(key) == expected


TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("present", "words", "overwrite", "word", "left"),
    [
        ([], ["a=b:NoSchedule"], False, "tainted", [TAINT]),
        ([TAINT], ["a=c:NoSchedule"], True, "modified", [{**TAINT, "value": "c"}]),
        ([TAINT], ["a:NoSchedule-"], False, "untainted", []),
        ([TAINT], ["a-"], False, "untainted", []),
        ([TAINT], ["x:NoExecute", "a-"], False, "modified", [{"key": "x", "effect": "NoExecute"}]),
    ],
)
def test_taints_change(present: list[Any], words: list[str], overwrite: bool, word: str, left: list[Any]) -> None:
    assert change("m", present, parse(words), overwrite) == (left, word)


HOSTILE = "a\x1b[2Jb\x1b]0;owned\x07c\rd\x9b1m"
SPELLED = "a^[[2Jb^[]0;owned^Gc\\rd\\x9b1m"


def test_what_objects_say_is_spelled_before_a_terminal_obeys_it() -> None:
    page, err = Page(), StringIO()
    page.field(0, "Message", HOSTILE)
    Session(err=err).warn(HOSTILE)
    node = Node("Pod", HOSTILE, health=HOSTILE)
    columns = renderer(flags("custom-columns=M:.message"))
    assert columns is not None
    texts = [
        shown(HOSTILE),
        aligned([["x", HOSTILE]]),
        *wrapped(HOSTILE, 80),
        *fitted([["x", HOSTILE]], 30),
        page.text(),
        err.getvalue(),
        as_text(node),
        columns([{"message": HOSTILE}], False),
    ]
    assert [text for text in texts if SPELLED not in text] == []
    assert shown("two\nlines\tand é") == "two\nlines\tand é"
    assert aligned([[Painted("\x1b[1mx\x1b[0m")]]) == "\x1b[1mx\x1b[0m\n"


def test_what_is_waited_for_is_one_line_that_a_terminal_does_not_obey() -> None:
    class Screen(StringIO):
        drawn = asyncio.Event()

        def isatty(self) -> bool:
            return True

        def flush(self) -> None:
            self.drawn.set()

    async def lines() -> list[str]:
        screen = Screen()
        with Waiting(Session(err=screen), f"{HOSTILE}\nfirst") as waiting:
            await screen.drawn.wait()
            screen.drawn.clear()
            waiting.say(f"{HOSTILE}\nthen")
            await screen.drawn.wait()
        return screen.getvalue().split("\r\033[K")[1:]

    first, second, end = asyncio.run(lines())
    assert f"{SPELLED} first (" in first
    assert f"{SPELLED} then (" in second
    assert not end


def test_a_cell_of_a_table_ends_with_its_first_line() -> None:
    kind = ApiResource(GroupVersionResource("", "v1", "events"), "Event", True, (), ())
    listing = Listing(kind)
    rows = [{"cells": [text]} for text in ("one", "two\nlines", "three\rover")]
    listing.add("m", {"columnDefinitions": [{"name": "Message"}], "rows": rows})
    assert [line[0] for line in listing.text(Style(headers=False))] == ["one", "two...", "three..."]

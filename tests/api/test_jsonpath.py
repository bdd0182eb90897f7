"""JSONPath as kubectl and printer columns use it."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import jsonpath
from karmada.api.jsonpath import JSONPathError

NODES: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "h1"}},
            "status": {"capacity": {"cpu": "4"}, "ready": True, "addresses": [{"type": "IP", "address": "10.0.0.1"}]},
        },
        {
            "kind": "Node",
            "metadata": {"name": "n2", "labels": {"kubernetes.io/hostname": "h2"}},
            "status": {
                "capacity": {"cpu": "8"},
                "ready": False,
                "addresses": [{"type": "IP", "address": "10.0.0.2"}, {"type": "DNS", "address": "n2.local"}],
            },
        },
    ],
    "numbers": [0, 1, 2, 3, 4],
    "floats": [1.0, 2.5],
    "nothing": None,
    "markup": {"a": "<b>&"},
    "empty": [],
}


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("plain text", "plain text"),
        ("hello {.kind}!", "hello List!"),
        ("{.items[*].metadata.name}", "n1 n2"),
        ("{$.items[0].kind}", "Node"),
        ("{.items[-1].metadata.name}", "n2"),
        (r"{.items[0].metadata.labels.kubernetes\.io/hostname}", "h1"),
        (r"{.items[0].metadata.labels['kubernetes\.io/hostname']}", "h1"),
        ("{.items[*]['metadata.name', 'status.capacity']}", 'n1 n2 {"cpu":"4"} {"cpu":"8"}'),
        ('{.items[?(@.metadata.name=="n2")].status.capacity.cpu}', "8"),
        ("{.items[?(@.status.ready==true)].metadata.name}", "n1"),
        ("{.items[?(@..ready==true)].metadata.name}", "n1"),
        ('{.items[?(@.status.addresses[0].address!="10.0.0.1")].metadata.name}', "n2"),
        ("{.items[?(@.missing)].kind}", ""),
        ("{.numbers[?(@<2)]}", "0 1"),
        ("{.numbers[?(@>=3)]}", "3 4"),
        ("{.numbers[1:3]}", "1 2"),
        ("{.numbers[::2]}", "0 2 4"),
        ("{.numbers[:-3]}", "0 1"),
        ("{.numbers[-2:]}", "3 4"),
        ("{.numbers[0,2,4]}", "0 2 4"),
        ("{.numbers[2:2]}", ""),
        ("{.numbers}", "[0,1,2,3,4]"),
        ("{.floats[*]}", "1 2.5"),
        ("{.numbers[]}", "0"),
        ("{.markup..}", r'{"a":"\u003cb\u003e\u0026"} <b>&'),
        ("{..address}", "10.0.0.1 10.0.0.2 n2.local"),
        ("{.items[0].status.*}", '{"cpu":"4"} true [{"address":"10.0.0.1","type":"IP"}]'),
        ("{.nothing}", "null"),
        ("{.nothing.deeper}", ""),
        ("{.missing}{.missing[0].x}", ""),
        ("{.markup}", r'{"a":"\u003cb\u003e\u0026"}'),
        ('{range .items[*]}{.metadata.name}{"\\t"}{.status.capacity.cpu}{"\\n"}{end}{.kind}', "n1\t4\nn2\t8\nList"),
        ("{range .items[*]}{range .status.addresses[*]}{.address}, {end}{end}", "10.0.0.1, 10.0.0.2, n2.local, "),
        ("{range .empty[*]}{.x}{end}done", "done"),
        ("{'single'} {\"{\"}", "single {"),
        ("{.items[*].metadata.name} and {.kind}", "n1 n2 and List"),
    ],
)
def test_templates(template: str, output: str) -> None:
    assert jsonpath.parse(template).render(NODES) == output


def test_printer_column_path() -> None:
    path = jsonpath.parse_path('.status.conditions[?(@.type=="Scheduled")].status')
    scheduled = {
        "status": {"conditions": [{"type": "Applied", "status": "False"}, {"type": "Scheduled", "status": "True"}]}
    }
    assert path.find(scheduled) == ["True"]
    assert path.find({}) == []


@pytest.mark.parametrize("text", ["kind", ".kind", "{kind}", "{.kind}"])
def test_relaxed_paths(text: str) -> None:
    assert jsonpath.parse_relaxed(text).find(NODES) == ["List"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{.hello}", "hello is not found"),
        ("{.kind[0]}", "string is not array or slice"),
        ("{.items[5]}", "array index out of bounds: index 5, length 2"),
        (
            "{.items[0].metadata[?(@.a)]}",
            "map[string]interface {} is not array or slice and cannot be filtered",
        ),
        ('{.numbers[?(@=="1")]}', "incompatible types for comparison"),
        ("{.items[?(@.metadata==1)]}", "invalid type for comparison"),
        ("{.numbers[?(@<>1)]}", "unrecognized filter operator <>"),
        ("{hello}", "unrecognized identifier hello"),
        ("{end}", "not in range, nothing to end"),
        ("{.kind", "unclosed action"),
        ("{.items[0}", "unterminated array"),
        ("{.items[?(@.a]}", "unterminated filter"),
        ("{.items[x]}", "invalid array index x"),
        ('{"open}', "unterminated quoted string"),
        ("{.....a}", "invalid multiple recursive descent"),
        ("{#}", "unrecognized character in action: U+0023 '#'"),
    ],
)
def test_errors_keep_the_known_texts(template: str, message: str) -> None:
    with pytest.raises(JSONPathError) as raised:
        jsonpath.parse(template).render(NODES, allow_missing=False)
    assert str(raised.value) == message
    assert raised.value.text == template


@pytest.mark.parametrize("text", ["{a}{b}", "{", "a{b"])
def test_paths_that_are_no_paths_are_refused(text: str) -> None:
    with pytest.raises(JSONPathError):
        jsonpath.parse_relaxed(text)


@given(st.text("{}.[]()?@$*:,'\"ab01= \\-!<>range", max_size=20))
def test_any_text_gives_output_or_a_path_error(template: str) -> None:
    with contextlib.suppress(JSONPathError):
        jsonpath.parse(template).render(NODES)


@given(
    st.recursive(
        st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", min_size=1, max_size=3), inner, max_size=3)
        ),
    )
)
def test_every_member_is_found_under_its_escaped_name(data: Any) -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            escaped = key.replace(".", "\\.")
            assert jsonpath.parse_path(f".{escaped}").find(data) == [value]
        assert jsonpath.parse_path(".*").find(data) == list(data.values())


def test_descents_into_each_other_end_somewhere() -> None:
    data: Any = 1
    for _ in range(120):
        data = {"a": data}
    assert len(jsonpath.parse_path("..a..a").find(data)) == 7140
    with pytest.raises(JSONPathError, match="selects more than"):
        jsonpath.parse_path("..a..a..a..a").find(data)

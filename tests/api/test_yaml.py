"""YAML as Kubernetes reads and writes it."""

import contextlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import yaml
from karmada.api.yaml import YAMLError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0o14", 12),
        ("014", 12),
        ("0x1F", 31),
        ("0b11", 3),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", 8),
        ("+7", 7),
        ("1e3", 1000),
        ("1.0", 1),
        (".5", 0.5),
        ("1.", 1),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("1e400", "1e400"),
        ("yes", True),
        ("On", True),
        ("y", True),
        ("no", False),
        ("OFF", False),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("null", None),
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("0o8", "0o8"),
        ('"yes"', "yes"),
        ("'0o14'", "0o14"),
        ("!!str 12", "12"),
        ("!!int 012", 10),
        ("!!binary aGk=", "hi"),
        ("=", "="),
        ("25%", "25%"),
        ("-", [None]),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    loaded = yaml.load(f"a: {text}") if text != "-" else {"a": yaml.load("-")}
    assert loaded == {"a": value}
    assert type(loaded["a"]) is type(value)


@pytest.mark.parametrize(("key", "name"), [("1", "1"), ("yes", "true"), ("n", "false"), ("1.5", "1.5"), ("0x10", "16")])
def test_keys_become_strings(key: str, name: str) -> None:
    assert yaml.load(f"{key}: v") == {name: "v"}


def test_documents_are_read_one_by_one_and_empty_ones_left_out() -> None:
    text = "---\na: 1\n---\n# nothing\n---\nb: 2\n...\n---\n- c\n"
    assert list(yaml.load_all(text)) == [{"a": 1}, {"b": 2}, ["c"]]
    assert yaml.load("") is None
    assert list(yaml.load_all(b"# only a comment\n")) == []


def test_json_is_yaml() -> None:
    assert yaml.load('{"a": [1, {"b": null}], "c": "\\u00e9"}') == {"a": [1, {"b": None}], "c": "é"}


def test_anchors_give_copies_and_merge_keys_yield() -> None:
    document = yaml.load("base: &b {x: 1, w: [2]}\none:\n  <<: *b\n  x: 9\ntwo: {<<: [{x: 3}, *b], z: 4}\nthree: *b\n")
    assert document["one"] == {"x": 9, "w": [2]}
    assert document["two"] == {"x": 3, "w": [2], "z": 4}
    assert document["three"] is not document["base"]
    document["base"]["w"].append(5)
    assert document["three"]["w"] == [2]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 'yaml: line 3: key "a" already set in map'),
        ("a:\n  1: x\n  '1': y\n", 3, 'yaml: line 3: key "1" already set in map'),
        ("a: b: c\n", 1, "yaml: line 1: mapping values are not allowed in this context"),
        ("ok: 1\n---\nbad: [1\n", 4, None),
        ("a:\n\t- b\n", 2, None),
        ("a: .inf\n", 1, "yaml: line 1: .inf cannot be written as JSON"),
        ("? [a]\n: b\n", 1, "yaml: line 1: a key must be a scalar"),
        ("~: b\n", 1, "yaml: line 1: a key must not be null"),
        ("a: *missing\n", 1, None),
        ("a: &x [*x]\n", 1, "yaml: line 1: anchor value contains itself"),
        ("a: !!int x\n", 1, "yaml: line 1: cannot decode `x` as a !!int"),
        ("a: 1\n<<: text\n", 2, "yaml: line 2: map merge requires map or sequence of maps as the value"),
        ("a: !!python/object:os.system x\n", 1, None),
    ],
)
def test_bad_documents_are_named_by_line(text: str, line: int, message: str | None) -> None:
    with pytest.raises(YAMLError) as raised:
        list(yaml.load_all(text))
    assert raised.value.line == line
    assert message is None or str(raised.value) == message


def test_alias_bombs_are_stopped() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(YAMLError, match="excessive aliasing"):
        yaml.load("\n".join(levels))


def test_several_documents_where_one_is_expected_are_refused() -> None:
    with pytest.raises(YAMLError, match="single document"):
        yaml.load("a: 1\n---\nb: 2\n")


DUMPED = """\
a: "yes"
a2: 2
a10: 1
b: "0o14"
c:
- x
- "y": 1
d: {}
e: []
f: null
g: true
h: 1.5
i: "2020-01-01"
j: "1:30"
k: |
  multi
  line
l: '# x'
m: ""
"n": ' lead'
o: |-
  a
  b
"true": 25%
u: é
"""


def test_output_looks_like_kubectl() -> None:
    document = yaml.load(DUMPED)
    backwards = dict(reversed(document.items()))
    assert document["n"] == " lead"
    assert document["true"] == "25%"
    assert yaml.dump(backwards) == DUMPED


def test_documents_are_separated() -> None:
    assert yaml.dump_all([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


@given(trees)
def test_what_is_written_reads_back(tree: Any) -> None:
    assert yaml.load(yaml.dump(tree)) == tree


@given(
    st.sampled_from(
        [
            "0o14",
            "yes",
            "1e3",
            "2020-01-01",
            "~",
            "",
            "1_0",
            "-",
            "?",
            "<<",
            "=",
            "!x",
            "&a",
            "*a",
            "%",
            "@",
            "`",
            "|",
            ">",
            "- a",
            "a: b",
            "a #b",
            "\x07",
            "\x85",
            "\ufeffx",
            " ",
            "\n",
            "\n\n a",
        ]
    )
)
def test_awkward_strings_read_back(text: str) -> None:
    assert yaml.load(yaml.dump({text: text, "list": [text]})) == {text: text, "list": [text]}


@given(st.text("ab:-[]{}&*!|>'\"#%@` \n\t0?,<~", max_size=20))
def test_any_text_gives_documents_or_a_yaml_error(text: str) -> None:
    with contextlib.suppress(YAMLError):
        list(yaml.load_all(text))


def test_importing_the_module_does_not_import_the_library() -> None:
    code = "import sys, karmada.api.yaml; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Label and field selectors: string form, object form, matching and refusal."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import work

from karmada.api import field_selector, label_selector
from karmada.api.field_selector import FieldSelectorError
from karmada.api.label_selector import NOTHING, LabelSelectorError
from karmada.api.meta import LabelSelector, LabelSelectorRequirement

LABELS = {"app": "web", "tier": "front", "generation": "7", "empty": ""}

words = st.from_regex(r"[a-z]([a-z0-9]{0,6}[a-z0-9])?", fullmatch=True).filter(lambda word: word not in ("in", "notin"))
terms = st.one_of(
    st.builds("{}={}".format, words, words),
    st.builds("{}!={}".format, words, words),
    st.builds("{}".format, words),
    st.builds("!{}".format, words),
    st.builds(
        lambda key, op, values: f"{key} {op} ({','.join(values)})",
        words,
        st.sampled_from(["in", "notin"]),
        st.lists(words, min_size=1),
    ),
    st.builds("{}{}{}".format, words, st.sampled_from("<>"), st.integers(-99, 99).filter(lambda n: n >= 0)),
)
selectors = st.lists(terms, max_size=4).map(",".join)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier!=back", True),
        ("app in (web, api), !missing", True),
        ("app notin (web)", False),
        ("missing notin (x)", True),
        ("missing!=x", True),
        ("missing=", False),
        ("empty=", True),
        ("empty", True),
        ("generation>6,generation<8", True),
        ("generation>7", False),
        ("app>1", False),
        ("empty in ()", True),
        ("app in (,web)", True),
        ("x in (in,notin)", False),
        ("in in (in)", False),
    ],
)
def test_labels_match(text: str, matches: bool) -> None:
    assert label_selector.parse(text).matches(LABELS) is matches


@given(selectors)
def test_string_form_reads_back(text: str) -> None:
    selector = label_selector.parse(text)
    assert label_selector.parse(str(selector)) == selector


@given(selectors, st.dictionaries(words, words))
def test_object_form_selects_the_same(text: str, labels: dict[str, str]) -> None:
    selector = label_selector.parse(text)
    keys = [requirement.key for requirement in selector.requirements]
    if ">" in text or "<" in text or len(set(keys)) < len(keys):
        return
    assert label_selector.from_json(label_selector.to_json(selector)).matches(labels) == selector.matches(labels)


def test_absent_selector_selects_nothing_and_empty_everything() -> None:
    assert label_selector.from_json(None) is NOTHING
    assert not label_selector.from_struct(None).matches({})
    assert label_selector.from_json({}).matches({})
    assert label_selector.from_struct(LabelSelector()).matches({"a": "b"})


def test_struct_and_json_agree() -> None:
    struct = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=(LabelSelectorRequirement(key="tier", operator="In", values=("front", "back")),),
    )
    json = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "back"]}],
    }
    assert label_selector.from_struct(struct) == label_selector.from_json(json)
    assert str(label_selector.from_struct(struct)) == "app=web,tier in (back,front)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x in", "unable to parse requirement: found '' expected: '('"),
        (
            "x>abc",
            'unable to parse requirement: values[0]: Invalid value: "abc": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
    ],
)
def test_bad_label_selectors_are_refused_in_known_words(text: str, message: str) -> None:
    with pytest.raises(LabelSelectorError) as raised:
        label_selector.parse(text)
    assert str(raised.value) == message
    assert raised.value.text == text


def test_bad_label_key_is_refused_in_known_words() -> None:
    with pytest.raises(LabelSelectorError) as raised:
        label_selector.parse("a/b/c=1")
    start = 'unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of'
    assert str(raised.value).startswith(start)


@given(st.text(alphabet="ab=!(),<> in\\/\n", max_size=12))
def test_any_text_gives_a_selector_or_a_selector_error(text: str) -> None:
    for module, error in ((label_selector, LabelSelectorError), (field_selector, FieldSelectorError)):
        with contextlib.suppress(error):
            module.parse(text).matches({})


@pytest.mark.parametrize(
    "selector",
    [
        [],
        {"matchLabels": []},
        {"matchLabels": {"a": 1}},
        {"matchExpressions": ["x"]},
        {"matchExpressions": [{"key": "a"}]},
    ],
    ids=str,
)
def test_wrong_shapes_raise_selector_errors(selector: Any) -> None:
    with pytest.raises(LabelSelectorError):
        label_selector.from_json(selector)


def test_validation_names_every_field() -> None:
    selector = {
        "matchLabels": {"-bad": "ok"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["b"]},
            {"key": "a", "operator": "Gt", "values": ["_"]},
        ],
    }
    assert [(error.reason, error.field) for error in label_selector.validate(selector, "spec.selector")] == [
        ("FieldValueInvalid", "spec.selector.matchLabels"),
        ("FieldValueRequired", "spec.selector.matchExpressions[0].values"),
        ("FieldValueForbidden", "spec.selector.matchExpressions[1].values"),
        ("FieldValueInvalid", "spec.selector.matchExpressions[2].operator"),
        ("FieldValueInvalid", "spec.selector.matchExpressions[2].values[0]"),
    ]


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,status.phase!=Running", True),
        ("status.phase=", True),
        ("=,metadata.name=a", True),
        (r"spec.x=1\,2\=3\\", True),
    ],
)
def test_fields_match(text: str, matches: bool) -> None:
    fields = {"metadata.name": "a", "spec.x": "1,2=3\\"}
    assert field_selector.parse(text).matches(fields) is matches
    assert field_selector.parse(text).matches_with(lambda field: fields.get(field, "")) is matches


@given(st.dictionaries(words, st.text(max_size=8), max_size=3))
def test_field_values_survive_escaping(fields: dict[str, str]) -> None:
    text = ",".join(f"{field}={field_selector.escape(value)}" for field, value in fields.items())
    selector = field_selector.parse(text)
    assert {term.field: term.value for term in selector.terms} == fields
    assert field_selector.parse(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_bad_field_selectors_are_refused_in_known_words(text: str, message: str) -> None:
    with pytest.raises(FieldSelectorError) as raised:
        field_selector.parse(text)
    assert (str(raised.value), raised.value.text) == (message, text)


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("a=b", ("a", "b")),
        ("a in (b)", ("a", "b")),
        ("a in (b, c),d==e", ("d", "e")),
        ("a!=b,!c,d,e notin (f),g>1", None),
        ("", None),
    ],
)
def test_a_selector_names_a_label_that_all_it_matches_have(text: str, required: tuple[str, str] | None) -> None:
    assert label_selector.parse(text).required_label() == required


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_many_values_of_a_selector_are_looked_at_once_for_all_that_it_is_compared_with(operator: str) -> None:
    values = tuple(f"v{number}" for number in range(1000))
    selector = LabelSelector(match_expressions=(LabelSelectorRequirement(key="a", operator=operator, values=values),))
    assert label_selector.matches(selector, {"a": "v7"}) is (operator == "In")

    def compared() -> int:
        return sum(label_selector.matches(selector, {"a": f"w{number}"}) for number in range(100))

    assert work(compared).calls < 5_000


def test_many_terms_of_a_selector_are_looked_at_once_for_all_that_it_is_compared_with() -> None:
    terms = tuple(LabelSelectorRequirement(key=f"k{n}", operator="NotIn", values=(f"v{n}",)) for n in range(1000))
    selector = LabelSelector(match_expressions=terms)
    assert not label_selector.matches(selector, {"k999": "v999"})

    def compared() -> int:
        return sum(label_selector.matches(selector, {"k1": f"w{number}"}) for number in range(100))

    assert work(compared).calls < 5_000


def test_one_term_among_many_that_makes_no_sense_never_holds() -> None:
    terms = [LabelSelectorRequirement(key=f"k{n}", operator="DoesNotExist") for n in range(20)]
    assert label_selector.matches(LabelSelector(match_expressions=tuple(terms)), {})
    for broken in (
        LabelSelectorRequirement(key="a", operator="Gt", values=("1",)),
        LabelSelectorRequirement(key="a b", operator="DoesNotExist"),
        LabelSelectorRequirement(key="a", operator="NotIn"),
    ):
        assert not label_selector.matches(LabelSelector(match_expressions=(*terms, broken)), {})

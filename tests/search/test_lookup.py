"""Queries as lookups: words and terms are found in the index, nothing is scanned, and what is cut is said to be."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.machinery.clock import rfc3339
from karmada.machinery.transport import GroupVersionResource
from karmada.search import terms
from karmada.search.database import Database, Write
from karmada.search.fulltext import Page, page_of
from karmada.search.lookup import Lookup, excerpt
from karmada.search.query import parse

PODS = GroupVersionResource("", "v1", "pods")
COUNT = 3000
NOW = 1_800_000_000


def pod(number: int) -> Write:
    """One of many: every tenth is of app web, every hundredth pending; the later ones are newer."""
    app = "web" if number % 10 == 0 else "api-worker"
    body = {
        "kind": "Pod",
        "metadata": {
            "name": f"{app}-{number:04d}",
            "namespace": f"team-{number % 3}",
            "creationTimestamp": rfc3339(NOW - 30 * 86400 + 60 * number),
            "labels": {"app": app, "example.com/team": "Über"},
        },
        "spec": {"containers": [{"name": "c", "image": f"registry.example/{app}:1.{number % 7}"}]},
        "status": {"phase": "Pending" if number % 100 == 0 else "Running"},
    }
    return Write(f"team-{number % 3}", f"{app}-{number:04d}", 1, orjson.dumps(body))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = Database(Path(tmp_path_factory.mktemp("index"), "search.sqlite"))
    made.begin()
    for cluster in ("member1", "member2"):
        collection, _ = made.claim(cluster, PODS, "Pod", "")
        made.put(collection, [pod(number) for number in range(COUNT)])
    made.commit()
    yield made
    made.close()


def names(database: Database, query: str, limit: int = 10_000) -> list[str]:
    return [f"{each.cluster}/{each.name}" for each in page_of(database, Lookup(parse(query), NOW), limit).found]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("pending", 60),
        ("web", 600),
        ("wEb status:Pending", 60),
        ("label:app=web", 600),
        ("label:app=we*", 600),
        ("label:app=worker", 0),  # a word of another value
        ("label:app", 0),
        ("label:example.com/team=*", 6000),
        ("label:example.com/team=Über", 6000),
        ("label:example.com/team=Ö*", 0),  # shares the token, has another value
        ("image:registry.example/web:1.3 cluster:member2", 43),
        ("image:registry.example/*:1.3 web", 86),
        ("image:*:1.3 web", 86),
        ("kind:pod namespace:team-1 web", 200),
        ("name:web-0010", 2),
        ("name:web-00*", 20),
        ("name:*-0010", 2),
        ("name:*B-0010", 2),
        ("name:*0010*", 2),
        ("name:*B-00*", 20),
        ("name:*_*", 0),
        ("name:*%*", 0),
        ("label:*pp=we*", 600),
        ("label:*app=web*team*", 0),  # not over the end of a value
        ("status:*end* namespace:*-1*", 20),
        ("name:w*10", 60),
        ("name:w*eb-0010", 2),
        ("name:web-0010*web-0010", 0),  # begins and ends so, and is too short for both
        ("label:*=web status:*ing", 600),
        ("label:*=Über", 6000),
        ("label:*=Öber", 0),
        ("name:W?b*", 0),
        ("age<1s", 0),
        ("age>1w cluster:MEMBER1", 3000),
        ("api_worker image:registry.example/api-worker:1.1", 772),
    ],
)
def test_a_query_finds_exactly_what_matches(database: Database, query: str, count: int) -> None:
    assert len(names(database, query)) == count


def test_the_newest_come_first_page_by_page(database: Database) -> None:
    lookup = Lookup(parse("web cluster:member1"), NOW)
    first = page_of(database, lookup, 3).found
    assert [each.name for each in first] == ["web-2990", "web-2980", "web-2970"]
    rest = page_of(database, lookup, 10_000, first[-1].id).found
    assert (len(rest), rest[0].name) == (297, "web-2960")


@pytest.mark.parametrize(
    "query",
    [
        "web",
        "w",
        "running",
        "kind:Pod",
        "status:Pending",
        "label:app=web image:registry.example/w*",
        "name:web-0010",
        "name:*-0010",
    ],
)
def test_only_rows_that_are_shown_are_visited(database: Database, query: str) -> None:
    """The plan reads the full-text index from new to old and looks up its rows; nothing is sorted or scanned."""
    lookup = Lookup(parse(query), NOW)
    sql, values = lookup.candidates(lookup.ways[0])
    plan = [row[3] for row in database.read(f"explain query plan {sql}", values)]
    scanned = [step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert scanned in ([], ["SCAN newest"])
    assert not any("TEMP B-TREE" in step for step in plan)
    assert steps(database, f"{sql} limit 10", values) < 1000  # a scan of 6,000 objects takes a hundred times as many


def steps(database: Database, sql: str, values: list[object]) -> int:
    """What the virtual machine of SQLite does for a query."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    with database.until(count, every=1):
        list(database.read(sql, values))
    return counted


@pytest.mark.parametrize(
    ("query", "found", "cut"),
    [
        ("name:*-0010", 2, False),
        ("registry web-0010 name:*0", 2, False),
        ("runner", 0, False),
        ("runn", 5940, False),
        ("runni", 5940, False),
        ("runnin running", 5940, False),
        ("pendin name:*-0100", 2, False),
    ],
)
def test_what_is_compared_is_found_all_the_same(database: Database, query: str, found: int, cut: bool) -> None:
    page = page_of(database, Lookup(parse(query), NOW), 10_000)
    assert (len(page.found), page.cut) == (found, cut)


def test_a_pattern_that_no_token_matches_is_compared_with_so_many_rows_and_the_answer_says_so(
    database: Database,
) -> None:
    lookup = Lookup(parse("name:*-0010*"), NOW)
    lookup.ways = [way._replace(visits=1000) for way in lookup.ways]
    assert page_of(database, lookup, 10) == Page([], True)


def matching(field: str, pattern: str, value: str) -> bool:
    lookup = Lookup(parse(f"{field}:{pattern}"), NOW)
    return lookup.matches(lookup.ways[-1], (1, value))


@pytest.mark.parametrize("field", ["name", "label"])
def test_a_value_that_nearly_matches_many_stars_is_compared_in_one_pass(field: str) -> None:
    value = "\n".join(["", *["a" * 250 + "b"] * 10, ""]) if field == "label" else "a" * 250 + "b"
    assert matching(field, "a*" * 20 + "b", value)
    # With every star tried at every place, this would not end in a lifetime.
    assert not matching(field, "a*" * 20 + "c*b", value)


@given(st.text("ab*", min_size=1, max_size=8), st.text("aAb", max_size=10), st.text("ab", max_size=10))
def test_a_star_stands_for_anything_in_one_value(pattern: str, value: str, other: str) -> None:
    expected = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.IGNORECASE)
    assert matching("name", pattern, value) == (expected.fullmatch(value) is not None)
    either = expected.fullmatch(value) is not None or expected.fullmatch(other) is not None
    assert matching("label", pattern, f"\n{other}\n{value}\n") == either


def test_text_of_an_object_is_no_term_of_it(tmp_path: Path) -> None:
    made = Database(tmp_path / "search.sqlite")
    forged = f"{terms.token('status', 'Failed')} {terms.backwards('status', 'Failed')} word"
    body = {"metadata": {"name": "a", "annotations": {"note": forged}}, "status": {"phase": "Running"}}
    made.begin()
    collection, _ = made.claim("member1", PODS, "Pod", "")
    made.put(collection, [Write("", "a", 1, orjson.dumps(body)), Write("", "broken", 1, b"no object")])
    made.commit()
    for pattern in ("Failed", "Fail*", "*ailed"):
        (found,) = made.read("select count(*) from words where words match ?", terms.lookups("status", pattern))
        assert found == (0,)
    assert names(made, "status:Running word") == ["member1/a"]
    assert names(made, "kind:Pod name:broken") == ["member1/broken"]
    made.close()


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("one two three", ("tw",), "one [two] three"),
        ("a b c d e f g h i j k l", ("g",), "...c d e f [g] h i j k..."),
        ("Café au lait", ("cafe", "lait"), "[Café] au [lait]"),
        ("nothing here", ("x",), ""),
        ("", ("x",), ""),
        ("web-1 runs web", ("web",), "[web]-1 runs [web]"),
    ],
)
def test_an_excerpt_shows_the_words_around_the_first_match(text: str, words: tuple[str, ...], shown: str) -> None:
    assert excerpt(text, words) == shown

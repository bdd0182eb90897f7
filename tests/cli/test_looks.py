"""How commands look on terminals of 80 and 140 columns, with and without colours, and in a pipe."""

import re
from collections import Counter

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.terminal import Terminal
from tests.cli.world import World

from karmada.cli.output.chain import as_text
from karmada.cli.output.wrapping import fitted, wrapped
from karmada.explain.why.links import Link

ESCAPE = re.compile(r"\033\[[0-9;]*[mK]")
COLOURS = {"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[33m"}
"""Bold and three colours of the terminal's own palette: they are readable on light and dark grounds."""
ONE_OF_MANY = re.compile(r"(?<![\d/.])1 (?:clusters|members|replicas|pods|workloads|objects|resources)\b.*")
COMMANDS = [
    ["why", "deployment/shop"],
    ["why", "deployment/bound"],
    ["why", "deployment/single"],
    ["tree", "deployment/shop"],
    ["tree", "deployment/single"],
    ["check"],
    ["top", "pods"],
    ["simulate", "--cluster-down", "member1"],
    ["simulate", "--without-cluster", "member1"],
    ["simulate", "deployment/single", "--taint", "member1:a=b:NoExecute"],
]
BOUND = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: bound}
spec:
  replicas: 2
  selector: {matchLabels: {app: bound}}
  template: {metadata: {labels: {app: bound}}, spec: {containers: [{name: main, image: "nginx:1.25"}]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: bound}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: bound}]
  placement: {clusterAffinity: {labelSelector: {matchLabels: {tier: gold}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: single}
spec:
  replicas: 1
  selector: {matchLabels: {app: single}}
  template: {metadata: {labels: {app: single}}, spec: {containers: [{name: main, image: "nginx:1.25"}]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: single}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: single}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""


@pytest.fixture(scope="module")
def space(federation: World) -> str:
    name = federation.namespace()
    apply(federation, SHOP, name)
    assert federation.run("apply", "-n", name, "-f", "-", stdin=BOUND).code == 0
    for one in ("bound", "single"):
        words = ("tree", f"deployment/{one}", "-n", name)
        federation.eventually(lambda words=words: "Running" in federation.run(*words).out)
    return name


def shown(federation: World, words: list[str], columns: int, **environment: str) -> str:
    """What stays on the screen when the command has ended."""
    terminal = Terminal(federation, words, columns=columns, **environment)
    terminal.end()
    return "\n".join(line.rpartition("\r\033[K")[2] for line in terminal.text.replace("\r\n", "\n").split("\n"))


def words_of(text: str) -> Counter[str]:
    """The words of a text, whatever the numbers in it: times and ages differ between two runs."""
    return Counter(re.sub(r"\d+", "0", re.sub(r" \([+-]\d+ s\)", "", ESCAPE.sub("", text))).split())


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_is_cut_and_no_line_is_too_long(federation: World, space: str, words: list[str], columns: int) -> None:
    command = [*words, *(["-n", space] if words != ["check"] else [])]
    text = shown(federation, command, columns)
    lines = ESCAPE.sub("", text).splitlines()
    assert [line for line in lines if len(line) > columns] == []
    assert set(ESCAPE.findall(text)) <= COLOURS
    piped = federation.run(*command).out
    assert "\033" not in piped
    assert ONE_OF_MANY.findall(piped) == []
    assert words_of(text) == words_of(piped)


@pytest.mark.parametrize("words", [["check"], ["why", "deployment/shop"], ["tree", "deployment/shop"]], ids=" ".join)
def test_colours_can_be_refused(federation: World, space: str, words: list[str]) -> None:
    command = [*words, *(["-n", space] if words != ["check"] else [])]
    assert "\033[3" in shown(federation, command, 80)
    assert "\033" not in shown(federation, command, 80, NO_COLOR="1")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (0, ["NAME   SAID", "a      one two three four five six seven"]),
        (40, ["NAME   SAID", "a      one two three four five six seven"]),
        (30, ["NAME   SAID", "a      one two three four five", "       six seven"]),
        (26, ["NAME   SAID", "a", "  one two three four five", "  six seven"]),
    ],
)
def test_the_last_column_is_broken_beside_its_row_or_below_it(columns: int, expected: list[str]) -> None:
    assert fitted([["NAME", "SAID"], ["a", "one two three four five six seven"]], columns) == expected


@pytest.mark.parametrize("columns", [60, 140])
def test_what_is_said_below_a_table_begins_where_it_begins(columns: int) -> None:
    link = Link("scheduling", "one cluster fits")
    link.table = [["CLUSTER", "VERDICT", "BECAUSE"], ["member1", "rejected", "it has not the label region=north"]]
    link.details = ["(recorded)"]
    lines = as_text("Deployment a", [link], colour=False, columns=columns).splitlines()
    (head,) = (line for line in lines if "CLUSTER" in line)
    (below,) = (line for line in lines if "(recorded)" in line)
    assert head.index("CLUSTER") == below.index("(recorded)")


def test_a_number_stays_with_its_name() -> None:
    text = "9 replicas in 2 clusters (member1: 6, member2: 3)"
    assert wrapped(text, 47) == ["9 replicas in 2 clusters (member1: 6,", "member2: 3)"]

"""Random inputs are compared with any program that speaks the oracle's protocol, and differences are made small."""

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from karmada.testing.differential.__main__ import main, table
from karmada.testing.differential.generator import Generator, GeneratorMissing
from karmada.testing.differential.minimise import minimise
from karmada.testing.differential.oracle import Oracle, OracleError
from karmada.testing.differential.run import Comparison
from karmada.testing.golden.case import Excuse, Topic

DOUBLING = Topic(
    "doubling",
    {"math.Double": lambda given: {"value": 2 * given["n"]}},
    excuses=[Excuse("seven is special", lambda case: case.input["n"] == 7)],
)
PROGRAM = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    n = request["input"].get("n")
    if n is None:
        print(json.dumps({"id": request["id"], "error": "no number"}))
    elif n == 5:
        print(json.dumps({"id": request["id"], "result": {"value": os.getpid()}}))
    elif n == 6:
        print(json.dumps({"id": request["id"], "result": {"panic": "boom"}}))
    else:
        print(json.dumps({"id": request["id"], "result": {"value": 2 * n + (n >= 7)}}))
"""
TOPICS_PY = """
class Made:
    pass
def doubling(dice, count):
    for n in range(count):
        yield "file", "math.Double", {"n": n, "noise": {"deep": [n, n]}, "more": dice.word()}
TOPICS = {"doubling": doubling}
"""
DICE_PY = """
import random
class Dice(random.Random):
    def word(self):
        return self.choice(["amber", "basalt"])
"""


@pytest.fixture
def oracle(tmp_path: Path) -> str:
    program = tmp_path / "oracle.py"
    program.write_text(PROGRAM)
    return f"{sys.executable} {program}"


@pytest.fixture
def generator(tmp_path: Path) -> Generator:
    # A name of its own: the generator is loaded as the package `inputs`, which other tests must not find.
    folder = tmp_path / "generator"
    (folder / "inputs").mkdir(parents=True)
    (folder / "inputs" / "topics.py").write_text(TOPICS_PY)
    (folder / "inputs" / "dice.py").write_text(DICE_PY)
    try:
        return Generator(folder)
    finally:
        sys.path.remove(str(folder.resolve()))
        for name in [name for name in sys.modules if name.split(".")[0] == "inputs"]:
            del sys.modules[name]


def test_differences_are_found_minimised_and_counted_apart_from_known_ones(oracle: str, generator: Generator) -> None:
    outcome = Comparison(Oracle(oracle, 2), [DOUBLING]).run(generator, "doubling", 1, 10, show=1)
    assert (outcome.compared, outcome.differing) == (8, 2)
    assert outcome.known == {"seven is special": 1}
    assert outcome.left_out == {"the outcome varies": 1, "the reference crashed": 1}
    (shown,) = outcome.shown
    assert shown.request == {"id": "doubling-s1-00008", "op": "math.Double", "input": {"n": 8}}
    assert shown.reason == "$.value: expected 17, got 16"
    assert table([outcome]).endswith("| doubling | 1 | 8 | 2 | 1 |")


def test_the_same_seed_gives_the_same_inputs(generator: Generator) -> None:
    first, second, other = (list(generator.requests("doubling", seed, 20)) for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_a_program_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="0 answers to 1 requests"):
        Oracle(f"{sys.executable} -c pass", 1).ask([{"id": "1", "op": "x", "input": {}}])


def test_an_absent_generator_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GeneratorMissing, match="--generator"):
        Generator(tmp_path)
    assert main(["--oracle", "true", "--generator", str(tmp_path)]) == 2
    assert "no generator of inputs" in capsys.readouterr().err


def test_without_an_oracle_recorded_answers_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "quantity"
    folder.mkdir()
    case = {"id": "1", "op": "quantity.Parse", "input": {"a": "1"}, "expect": {"error": "no"}}
    (folder / "a.jsonl").write_bytes(orjson.dumps(case) + b"\n")
    assert main(["--recorded", str(tmp_path), "--topic", "quantity"]) == 1
    assert "0 passed, 1 failed" in capsys.readouterr().out


def test_a_minimised_input_has_only_what_is_needed() -> None:
    given: dict[str, Any] = {"a": {"b": [1, 2, {"c": 3, "d": 4}]}, "e": list(range(20))}

    def differs(trees: Any) -> list[bool]:
        return ['"c":3' in orjson.dumps(tree).decode() and tree.get("e") != [] for tree in trees]

    assert minimise(given, differs) == {"a": {"b": [{"c": 3}]}}


def test_our_code_sees_no_object_twice(oracle: str) -> None:
    shared = {"n": 1}
    (record,) = Oracle(oracle, 1).ask([{"id": "1", "op": "x", "input": {"n": 1, "a": shared, "b": shared}}]).records
    assert record["input"]["a"] == record["input"]["b"]
    assert record["input"]["a"] is not record["input"]["b"]


def test_a_known_difference_excuses_only_its_place(oracle: str, generator: Generator) -> None:
    elsewhere = [Excuse("seven is special", lambda case: case.input["n"] == 7, "$.other")]
    topic = Topic("doubling", DOUBLING.operations, excuses=elsewhere)
    outcome = Comparison(Oracle(oracle, 1), [topic]).run(generator, "doubling", 1, 8, show=0)
    assert (outcome.differing, outcome.known.total()) == (1, 0)


def test_a_difference_that_another_process_does_not_confirm_is_none(oracle: str, generator: Generator) -> None:
    outcome = Comparison(Oracle(oracle, 1), [DOUBLING]).run(generator, "doubling", 1, 7, show=9)
    assert (outcome.compared, outcome.differing, outcome.shown) == (5, 0, [])
    assert outcome.left_out == {"the outcome varies": 1, "the reference crashed": 1}

"""Long runs go on where they were, and leave a seed that breaks as a command and as a test."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.testing.test_storage_histories import IgnoresExpectations

from karmada.testing import soak
from karmada.testing.histories.clients import Writer
from karmada.testing.progress import progress_of
from karmada.testing.scenarios import storage
from karmada.testing.soak import Failure, keep, main
from karmada.testing.world import Broken


def test_a_run_says_how_many_seeds_and_how_fast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "leadership", "--seeds", "2", "--workers", "1", "--progress", str(tmp_path)]) == 0

    assert "2 seeds of leadership, 0 broken" in capsys.readouterr().out
    assert soak.SCENARIOS.keys() >= {"storage", "storage-etcd"}


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    first = progress_of(tmp_path, "a run")
    first.advance(50, 1, 3.5)
    again = progress_of(tmp_path, "a run")

    assert (again.done, again.broken, again.seconds) == (50, 1, 3.5)
    assert progress_of(tmp_path, "another run").done == 0
    assert progress_of(tmp_path, "a run", fresh=True).done == 0


def test_progress_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    progress_of(tmp_path, "a run").advance(50, 0, 1)
    for file in tmp_path.iterdir():
        file.write_text("{")

    assert progress_of(tmp_path, "a run").done == 0


def test_a_seed_that_breaks_becomes_a_test_once(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# a list\n")
    failure = Failure(7, "seed 7: two leaders\n  and so on")

    assert keep(seeds, "leadership", failure)
    assert keep(seeds, "leadership", failure)

    assert seeds.read_text() == "# a list\nleadership 7  # seed 7: two leaders\n"


def test_a_seed_that_may_not_break_again_becomes_no_test(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("")

    assert not keep(seeds, "killing", Failure(7, "lost"))
    assert not keep(tmp_path / "none.txt", "leadership", Failure(7, "lost"))
    assert seeds.read_text() == ""


SCENARIOS = """
from tests.testing.test_unexpected import Component, explore, reconciling
from karmada.testing import soak

async def hides(world):
    error = AttributeError("no such field")
    world.start(Component("controller", lambda around: reconciling(around.clock, error)))
    await world.calm(120)

soak.SCENARIOS["hides"] = lambda seed: explore(hides, seed)
soak.SCENARIOS["dies"] = lambda seed: os._exit(3) if seed else []
print([(failure.seed, failure.story.splitlines()[0]) for failure in soak.run_chunk("hides", 5, 2)])
try:
    soak.run_chunk("dies", 0, 3)
except RuntimeError as error:
    print(error)
"""


def test_errors_hidden_by_retries_and_processes_that_exit_are_reported() -> None:
    command, here = [sys.executable, "-c", f"import os{SCENARIOS}"], Path(__file__).parents[2]
    answered = subprocess.run(command, cwd=here, capture_output=True, text=True)

    hidden, died = answered.stdout.splitlines()
    story = "nothing fails that a retry hides: test failed on key; retry in 0.005 s: AttributeError('no such field')"
    assert hidden == str([(5, f"seed 5: {story}"), (6, f"seed 6: {story}")])
    assert died == "seeds 1 to 2 ended with 3"
    assert answered.stderr == ""


def broken_seed() -> int:
    for seed in range(50):
        try:
            storage.explore(seed, IgnoresExpectations)
        except Broken:
            return seed
    raise AssertionError("no seed breaks")


def test_a_broken_history_is_reported_with_the_clients_it_needs() -> None:
    story = storage.shorter(broken_seed(), IgnoresExpectations)

    _, _, clients = story.rpartition("\n  with ")
    assert Writer.__name__.lower() in clients
    assert len(clients.split(", ")) < len(storage.CLIENTS)

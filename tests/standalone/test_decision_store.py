"""The scheduler's decisions survive a restart, and a file that is broken costs nothing else."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from karmada.api.decision import Attempt, Decision, Placed, encode
from karmada.api.work.v1alpha2 import TargetCluster
from karmada.machinery.clock import REAL
from karmada.scheduler.decision_history import DecisionHistory, Noted
from karmada.scheduler.keys import BindingKey
from karmada.standalone.decision_store import DecisionStore

KEY = BindingKey("shop", "web-deployment")


async def test_a_decision_is_kept_after_a_restart_with_the_time_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "decisions.sqlite"
    before = DecisionHistory()
    store = DecisionStore(path, before, REAL)
    store.load()
    before.note(KEY, noted(100.0, "member1"))
    before.note(KEY, noted(200.0, "member2"))
    before.note(BindingKey("", "gone"), noted(1.0, "member1"))
    await store.save()
    before.forget(BindingKey("", "gone"))
    await store.save()
    assert path.stat().st_mode & 0o777 == 0o600
    after = DecisionHistory()
    DecisionStore(path, after, REAL).load()
    assert after.of(KEY) == before.of(KEY)
    assert [one.at for one in after.of(KEY)] == [200.0, 100.0]
    assert after.of(BindingKey("", "gone")) == []


async def test_after_an_edit_of_everything_only_some_bindings_are_written_each_time(tmp_path: Path) -> None:
    path = tmp_path / "decisions.sqlite"
    before = DecisionHistory()
    store = DecisionStore(path, before, REAL)
    keys = [BindingKey("shop", f"web{number}") for number in range(5)]
    for key in keys:
        before.note(key, noted(1.0, "member1"))
    await store.save(3)
    assert len(known(path, keys)) == 3
    await store.save(3)
    assert known(path, keys) == keys
    await store.save(3)


async def test_decisions_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.sqlite"
    await DecisionStore(path, DecisionHistory(), REAL).save()
    made = noted(100.0, "member1")
    row = [{"at": made.at, "cause": made.cause, "decision": msgspec.Raw(encode(made.decision))}]
    history = DecisionHistory()
    store = DecisionStore(path, history, REAL)
    store.load()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO decisions VALUES (?, ?, ?)", (*KEY, msgspec.json.encode(row)))
    store.load()
    assert history.of(KEY) == [made]


async def test_a_decision_that_was_written_reads_as_before(tmp_path: Path) -> None:
    history = DecisionHistory()
    store = DecisionStore(tmp_path / "decisions.sqlite", history, REAL)
    history.note(KEY, noted(1.0, "member1"))
    live = history.of(KEY)[0].decision
    await store.save()
    assert history.of(KEY)[0].decision == live
    history.note(KEY, noted(2.0, "member1"))
    assert [one.at for one in history.of(KEY)] == [2.0], "it said nothing new"


def known(path: Path, keys: list[BindingKey]) -> list[BindingKey]:
    history = DecisionHistory()
    DecisionStore(path, history, REAL).load()
    return [key for key in keys if history.of(key)]


async def test_a_broken_file_costs_the_history_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "decisions.sqlite"
    path.write_bytes(b"not a database, whatever its name says" * 100)
    history = DecisionHistory()
    store = DecisionStore(path, history, REAL)
    with caplog.at_level(logging.WARNING):
        store.load()
        history.note(KEY, noted(1.0, "member1"))
        await store.save()
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert len(history.of(KEY)) == 1


def noted(at: float, cluster: str) -> Noted:
    outcome = Placed(clusters=(TargetCluster(name=cluster, replicas=1),))
    return Noted(at, "template", Decision(outcome=outcome, attempts=(Attempt(outcome=outcome),)))

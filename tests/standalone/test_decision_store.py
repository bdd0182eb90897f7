"""The scheduler's decisions survive a restart, and a file that is broken costs nothing else."""

import logging
from pathlib import Path

import pytest

from karmada.api.decision import Attempt, Decision, Placed
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

"""A binding is booked in all federated quotas that name what it uses, or in none."""

import asyncio
import copy
import time
from collections.abc import Callable
from typing import Any

import pytest

from karmada.api.feature_gates import DEFAULTS
from karmada.api.quantity import Quantity
from karmada.machinery.errors import ApiError, Conflict, Unavailable
from karmada.policies.quota import plus
from karmada.webhook.bindings import validate_binding
from karmada.webhook.model import Denied, Operation, Review

BINDING = {
    "metadata": {"name": "web-deployment", "namespace": "shop"},
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
        "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
        "clusters": [{"name": "member1", "replicas": 3}],
    },
}


class Quotas:
    """Stored quotas of which others write some at the wrong moment."""

    def __init__(self, used: dict[str, int], limit: int = 9) -> None:
        self.used = used
        self.versions = dict.fromkeys(used, 1)
        self.limit = limit
        self.before: Callable[[str], None] = lambda name: None
        """Called with the name of a quota before it is written."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        return [
            {
                "metadata": {"name": name, "namespace": namespace, "resourceVersion": str(self.versions[name])},
                "spec": {"overall": {"cpu": str(self.limit)}},
                "status": {"overallUsed": {"cpu": str(used)}},
            }
            for name, used in self.used.items()
        ]

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        name = tree["metadata"]["name"]
        self.before(name)
        if tree["metadata"]["resourceVersion"] != str(self.versions[name]):
            raise Conflict("changed meanwhile")
        if not dry_run:
            self.write(name, int((tree["status"].get("overallUsed") or {}).get("cpu", 0)))

    def write(self, name: str, used: int) -> None:
        self.used[name] = used
        self.versions[name] += 1


def judge(quotas: Quotas, dry_run: bool = False, before: int | None = None) -> None:
    """Have the binding judged, as new or after it had so many replicas."""
    old = None if before is None else with_replicas(before)
    send(quotas, Operation.CREATE if before is None else Operation.UPDATE, old, BINDING, dry_run)


def send(
    quotas: Quotas, operation: Operation, old: dict[str, Any] | None, new: dict[str, Any], dry_run: bool = False
) -> None:
    """Have a review judged, whatever is stored."""
    gates = DEFAULTS.with_overrides({"FederatedQuotaEnforcement": True})
    tree, old = copy.deepcopy(new), copy.deepcopy(old)
    review = Review(operation, "shop", "web-deployment", tree, old, lambda: "id", time.time, gates, quotas, dry_run)
    asyncio.run(validate_binding(review))


def with_replicas(replicas: int) -> dict[str, Any]:
    return {**BINDING, "spec": {**BINDING["spec"], "clusters": [{"name": "member1", "replicas": replicas}]}}


def once(quotas: Quotas, name: str, used: int) -> None:
    """Have somebody else use some of a quota just before it is written for the first time."""

    def before(written: str) -> None:
        if written == name:
            quotas.before = lambda name: None
            quotas.write(name, used)

    quotas.before = before


def test_a_conflict_on_one_quota_books_no_other_twice() -> None:
    quotas = Quotas({"first": 0, "second": 0})
    once(quotas, "second", 4)
    judge(quotas)
    assert quotas.used == {"first": 3, "second": 7}


@pytest.mark.parametrize("dry_run", [False, True], ids=["for real", "dry run"])
def test_what_a_quota_refuses_in_the_end_is_booked_in_none(dry_run: bool) -> None:
    quotas = Quotas({"first": 0, "second": 0})
    once(quotas, "second", 8)
    with pytest.raises(Denied, match=r"second\) exceeded for resource cpu: requested sum 11, limit 9"):
        judge(quotas, dry_run)
    assert quotas.used == {"first": 0, "second": 8}


def test_less_may_be_asked_for_where_more_is_used_than_is_allowed() -> None:
    quotas = Quotas({"first": 20})
    judge(quotas, before=5)
    assert quotas.used == {"first": 20}
    with pytest.raises(Denied, match="requested sum 21, limit 9"):
        judge(quotas, before=2)


def test_a_review_gives_nothing_back_however_often_it_comes() -> None:
    quotas = Quotas({"first": 8})
    for _ in range(3):
        send(quotas, Operation.UPDATE, with_replicas(3), with_replicas(0))
    assert quotas.used == {"first": 8}


def test_what_is_used_more_is_booked_where_something_else_is_used_less() -> None:
    quotas = Quotas({"first": 3})
    old = with_replicas(3)
    old["spec"] = old["spec"] | {"replicaRequirements": {"resourceRequest": {"cpu": "1", "memory": "2Gi"}}}
    send(quotas, Operation.UPDATE, old, with_replicas(5))
    assert quotas.used == {"first": 5}


def test_a_dry_run_books_nothing() -> None:
    quotas = Quotas({"first": 5})
    judge(quotas, dry_run=True)
    judge(quotas, dry_run=True, before=5)
    assert quotas.used == {"first": 5}


def test_a_quota_that_keeps_changing_is_a_conflict_and_nothing_is_booked() -> None:
    quotas = Quotas({"first": 0, "second": 0})

    def before(name: str) -> None:
        if name == "second":
            quotas.write("second", 0)

    quotas.before = before
    with pytest.raises(Denied) as caught:
        judge(quotas)
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert quotas.used == {"first": 0, "second": 0}


def test_nothing_stays_booked_when_another_quota_cannot_be_written() -> None:
    quotas = Quotas({"first": 0, "second": 0})

    def before(name: str) -> None:
        if name == "second":
            raise Unavailable("away")

    quotas.before = before
    with pytest.raises(ApiError):
        judge(quotas)
    assert quotas.used == {"first": 0, "second": 0}


def test_use_is_counted_in_the_unit_of_the_resource() -> None:
    overall = {"memory": "20Gi", "cpu": "4", "nvidia.com/gpu": "4"}
    more = {"memory": "1024e6", "cpu": "0.2", "nvidia.com/gpu": "2"}
    after = plus({"memory": "1Gi", "cpu": "1e-1"}, {name: Quantity.parse(text) for name, text in more.items()}, overall)
    spelled = {name: str(amount) for name, amount in after.items()}
    assert spelled == {"memory": "2048576Ki", "cpu": "300m", "nvidia.com/gpu": "2"}


def test_nobody_uses_less_than_nothing() -> None:
    after = plus({"cpu": "1", "memory": "0"}, {"cpu": Quantity.parse("-2")}, {"cpu": "4", "memory": "4Gi"})
    assert after == {}

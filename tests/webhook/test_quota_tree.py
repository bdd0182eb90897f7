"""What a binding uses is booked in the quotas of its namespace and in all that select it: in every one, or in none."""

import asyncio
import copy
import time
from typing import Any

import pytest

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.feature_gates import DEFAULTS
from karmada.machinery.errors import Conflict
from karmada.webhook.bindings import validate_binding
from karmada.webhook.federated_quota import validate_federated_quota
from karmada.webhook.model import Denied, Operation, Review

SYSTEM = "karmada-system"
GATES = DEFAULTS.with_overrides({"FederatedQuotaEnforcement": True, "FederatedQuotaTree": True})
LABELS = {"shop": {"org": "a", "team": "shop"}, "bank": {"org": "a", "team": "bank"}, "free": {}}


def quota(namespace: str, name: str, limit: int, selector: str | None = None) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "resourceVersion": "1"}
    if selector is not None:
        meta["annotations"] = {QUOTA_NAMESPACES: selector}
    return {"metadata": meta, "spec": {"overall": {"cpu": str(limit)}}}


class Stored:
    """Quotas that are written by whoever read them last; others may run between any two calls."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        self.quotas = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in quotas}

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        return [copy.deepcopy(one) for key, one in self.quotas.items() if key[0] == namespace]

    async def labels_of(self, namespace: str) -> dict[str, str]:
        await asyncio.sleep(0)
        return LABELS[namespace]

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        await asyncio.sleep(0)
        meta = tree["metadata"]
        stored = self.quotas[meta["namespace"], meta["name"]]["metadata"]
        if stored["resourceVersion"] != meta["resourceVersion"]:
            raise Conflict("changed meanwhile")
        if not dry_run:
            version = str(int(meta["resourceVersion"]) + 1)
            written = {**tree, "metadata": {**meta, "resourceVersion": version}}
            self.quotas[meta["namespace"], meta["name"]] = written

    def used(self) -> dict[str, int]:
        found = {
            name: one.get("status", {}).get("overallUsed", {}).get("cpu", "0") for (_, name), one in self.quotas.items()
        }
        return {name: int(amount) for name, amount in found.items()}


async def bind(stored: Stored, namespace: str, cpus: int, gates: Any = GATES) -> None:
    tree = {
        "metadata": {"name": "web-deployment", "namespace": namespace},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": "web"},
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "clusters": [{"name": "member1", "replicas": cpus}],
        },
    }
    await validate_binding(
        Review(Operation.CREATE, namespace, "web-deployment", tree, None, lambda: "id", time.time, gates, stored)
    )


def tree() -> Stored:
    return Stored(
        quota("shop", "own", 8),
        quota(SYSTEM, "org", 10, "org=a"),
        quota(SYSTEM, "team", 6, "org=a,team=shop"),
        quota(SYSTEM, "system", 1),
    )


async def test_what_a_namespace_uses_counts_in_all_that_select_it() -> None:
    stored = tree()
    await bind(stored, "shop", 3)
    await bind(stored, "bank", 4)
    await bind(stored, "free", 50)
    assert stored.used() == {"own": 3, "org": 7, "team": 3, "system": 0}


@pytest.mark.parametrize(("namespace", "cpus", "which"), [("shop", 7, "team"), ("bank", 11, "org"), ("shop", 9, "own")])
async def test_the_first_limit_that_is_exceeded_refuses_and_nothing_is_booked(
    namespace: str, cpus: int, which: str
) -> None:
    stored = tree()
    with pytest.raises(Denied, match=rf"/{which}\) exceeded for resource cpu: requested sum {cpus}"):
        await bind(stored, namespace, cpus)
    assert set(stored.used().values()) == {0}


async def test_without_the_gate_a_quota_counts_its_own_namespace_alone() -> None:
    stored = tree()
    await bind(stored, "shop", 7, DEFAULTS.with_overrides({"FederatedQuotaEnforcement": True}))
    assert stored.used() == {"own": 7, "org": 0, "team": 0, "system": 0}


async def test_concurrent_bindings_never_exceed_a_parent_and_are_never_counted_twice() -> None:
    stored = tree()
    outcomes = await asyncio.gather(
        *(bind(stored, namespace, 2) for namespace in ("shop", "bank") * 6), return_exceptions=True
    )
    assert all(one is None or isinstance(one, Denied) for one in outcomes)
    won = [namespace for namespace, one in zip(("shop", "bank") * 6, outcomes, strict=True) if one is None]
    assert won
    used = stored.used()
    assert used["org"] == 2 * len(won) <= 10
    assert used["own"] == used["team"] == 2 * won.count("shop") <= 6


@pytest.mark.parametrize(
    ("namespace", "selector", "gates", "refused"),
    [
        (SYSTEM, "org=a", GATES, False),
        ("shop", "org=a", GATES, True),
        ("shop", "org=a", DEFAULTS, False),
        (SYSTEM, "org=(", GATES, True),
    ],
)
async def test_a_selector_is_judged_at_admission(namespace: str, selector: str, gates: Any, refused: bool) -> None:
    made = quota(namespace, "q", 5, selector)
    review = Review(Operation.CREATE, namespace, "q", made, None, lambda: "id", time.time, gates, Stored())
    if not refused:
        await validate_federated_quota(review)
        return
    with pytest.raises(Denied, match=r"metadata.annotations\[policy.karmada.io/quota-namespace-selector\]"):
        await validate_federated_quota(review)

"""No list or map of any kind of Karmada costs its admission more per entry the more entries it has."""

import copy
import time
from collections.abc import Callable, Mapping

import pytest
from tests.growth import Case, JSONObject, Work, cases, excess, grows, with_entries, work

from karmada.api.crd.definition import definition
from karmada.api.feature_gates import DEFAULTS
from karmada.api.kinds import KINDS, Home
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.resources import ResourceType
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Handler, Operation, Review

TYPES = {
    (type_.group, type_.plural, type_.version): type_
    for kind in KINDS
    if kind.home is not Home.AGGREGATED
    for type_ in resource_types_of(definition(kind))
}
JUDGED = [handler for handler in HANDLERS if (handler.group, handler.resource, handler.version) in TYPES]
SPECS: dict[str, JSONObject] = {
    "overridepolicies": {"overrideRules": [{"overriders": {}}]},
    "clusteroverridepolicies": {"overrideRules": [{"overriders": {}}]},
}
"""What some kinds need so that more than its absence is judged."""


class Nothing:
    """A lookup in an empty control plane."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[JSONObject]:
        return []

    async def replace_status(self, api_version: str, kind: str, tree: JSONObject, dry_run: bool) -> None:
        raise AssertionError("nothing is written here")

    async def labels_of(self, namespace: str) -> Mapping[str, str]:
        return {}


def judged(handler: Handler, obj: JSONObject) -> Work:
    """What completing and judging a new object takes."""
    namespace = "ns" if TYPES[handler.group, handler.resource, handler.version].namespaced else ""
    review = Review(Operation.CREATE, namespace, "o", obj, None, lambda: "id", time.time, DEFAULTS, Nothing())

    async def admitted() -> int:
        try:
            if handler.mutate is not None:
                handler.mutate(review)
            if handler.validate is not None:
                await handler.validate(review)
        except Denied as denial:
            return len(denial.message)
        return sum(map(len, review.warnings))

    def said() -> int:
        try:
            admitted().send(None)
        except StopIteration as end:
            return int(end.value)
        raise AssertionError("nothing is waited for")

    return work(said)


def measured(handler: Handler, type_: ResourceType, case: Case) -> Callable[[int], Work | None]:
    base: JSONObject = {"apiVersion": type_.api_version, "kind": type_.kind, "metadata": {"name": "o"}}
    base["spec"] = copy.deepcopy(SPECS.get(type_.plural, {}))
    if type_.namespaced:
        base["metadata"]["namespace"] = "ns"

    def measure(count: int) -> Work | None:
        obj = with_entries(type_.schema, base, case, count)
        return judged(handler, obj) if obj is not None else None

    return measure


@pytest.mark.parametrize("handler", JUDGED, ids=lambda handler: str(handler.resource))
def test_entries_of_lists_cost_admission_the_same_however_many_there_are(handler: Handler) -> None:
    type_ = TYPES[handler.group, handler.resource, handler.version]
    found = {}
    for case in cases(type_.schema, lambda path: path[0] in ("spec", "webhooks")):
        cost = excess(measured(handler, type_, case))
        if cost is not None and grows(cost):
            found[str(case)] = cost
    assert found == {}


def test_every_kind_that_is_judged_is_looked_at() -> None:
    assert {handler.resource for handler in HANDLERS} - {handler.resource for handler in JUDGED} == {"*"}

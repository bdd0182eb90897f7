"""No list or map of any built-in kind costs more per entry the more entries it has."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random

import orjson
import pytest
from tests.growth import Case, Path, Work, cases, counted, excess, grows, with_entries, work

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.admission.node_ports import NodePorts
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.builtin.strategies.compute_resources import PodClaims, claim_errors
from karmada.apiserver.builtin.strategies.pod_validation import MOST_CONTAINERS, spec_errors
from karmada.apiserver.failures import MAX_CAUSE_CHARACTERS
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.scalars import Mismatch
from karmada.testing.differential.kube.scenarios import kinds

KINDS = {kind.type.kind: kind for kind in reversed(kinds())}
ALIKE = (
    *("initContainers", "ephemeralContainers", "podAntiAffinity"),
    *("readinessProbe", "startupProbe", "preStop"),
)
"""Judged by the rules of containers, of other affinities, probes and hooks."""
ELSEWHERE = {"CustomResourceDefinition", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
"""Kinds for administrators, with bounds of their own."""
COMPILED = {"ValidatingAdmissionPolicy"}
"""Kinds for administrators whose entries are programs: compiling them takes seconds here."""
QUOTED = ("Pod", "PersistentVolumeClaim")
"""Kinds whose refused updates quote what changed, found in a bounded number of lines."""


def chosen(type_: ResourceType, path: Path) -> bool:
    """Whether a list has rules of its own: metadata and pod templates are judged alike in every kind."""
    if path[0] == "metadata":
        return type_.kind == "ConfigMap"
    templated = any(pair == ("template", "spec") for pair in pairwise(path))
    return not templated and "metadata" not in path[1:] and not any(step in ALIKE for step in path[:-1])


def judged(type_: ResourceType, obj: JSONObject, is_update: bool, status: bool) -> Work | None:
    """What judging an object takes, as a new one or as an update of one with the same entries in another order."""
    rules = type_.strategy
    new = orjson.loads(orjson.dumps(obj))
    new["metadata"] |= {"namespace": "ns", "uid": "u"}
    try:
        decode(type_.schema, new)
    except Mismatch:
        return None
    rules.default(new)
    new = counted(new)
    old = None
    if is_update:
        old = counted(_turned(new))
        new["metadata"]["annotations"] = {"changed": "yes"}

    def said() -> int:
        errors = list((rules.validate_status if status else rules.validate)(new, old))
        texts = [] if status else rules.warnings(new, old)
        # The same text said often is in memory once.
        return sum({id(error.message): len(error.message) for error in errors}.values()) + sum(map(len, texts))

    return work(said)


def _turned(value: JSONObject) -> JSONObject:
    def turn(item: object) -> object:
        if isinstance(item, dict):
            return {key: turn(inner) for key, inner in item.items()}
        return [turn(inner) for inner in reversed(item)] if isinstance(item, list) else item

    turned = turn(value)
    assert isinstance(turned, dict)
    return turned


def measured(type_: ResourceType, base: JSONObject, case: Case, is_update: bool) -> Callable[[int], Work | None]:
    def measure(count: int) -> Work | None:
        obj = with_entries(type_.schema, base, case, count)
        return judged(type_, obj, is_update, case.path[0] == "status") if obj is not None else None

    return measure


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - COMPILED))
def test_entries_of_lists_cost_the_same_however_many_there_are(kind: str) -> None:
    type_, base = KINDS[kind].type, KINDS[kind].body
    found = {}
    for case in cases(type_.schema, partial(chosen, type_)):
        status = case.path[0] == "status"
        for is_update in (True,) if status else (False,) if kind in QUOTED else (False, True):
            cost = excess(measured(type_, base, case, is_update))
            if cost is not None and grows(cost):
                found[str(case), is_update] = cost
    assert found == {}


def test_every_kind_that_can_be_changed_is_looked_at() -> None:
    changed = {type_.kind for type_ in builtin_types() if "update" in type_.verbs}
    assert changed - {*KINDS} == ELSEWHERE


def test_work_that_grows_with_pairs_is_noticed() -> None:
    """What the other tests rely on."""

    def measure(count: int) -> Work:
        entries = [*counted([f"a{number}" for number in range(count)])]

        def said() -> int:
            return sum(entry in entries[:index] for index, entry in enumerate(entries))

        return work(said)

    cost = excess(measure)
    assert cost is not None
    assert grows(cost)
    assert round(cost.comparisons, 1) == 0.5


def test_claims_that_a_pod_does_not_have_are_listed_as_often_as_an_answer_has_room_for() -> None:
    known = PodClaims([f"claim-{number}" for number in range(10_000)])
    errors = claim_errors("claims", [{"name": f"other-{number}"} for number in range(5_000)], known)
    assert len(errors) == 5_000
    assert errors[0].message.endswith(", claim-9999")
    assert sum(len(error.message) for error in errors) < 2 * MAX_CAUSE_CHARACTERS


def test_a_pod_with_more_containers_than_can_be_stored_is_refused_as_a_whole() -> None:
    spec = {"containers": [{}] * (MOST_CONTAINERS + 1)}
    (error,) = spec_errors(spec, "spec")
    assert str(error) == f"spec.containers: Too many: {MOST_CONTAINERS + 1}: must have at most {MOST_CONTAINERS} items"


@pytest.mark.parametrize("old", [None, {"type": "NodePort", "ports": []}], ids=["create", "update"])
def test_ports_of_a_service_are_allocated_without_looking_at_each_other(old: JSONObject | None) -> None:
    type_ = KINDS["Service"].type
    request = AdmissionRequest(Operation.CREATE, type_, "ns", "o", "", {}, old, UserInfo("u"), {}, dry_run=True)

    def measure(count: int) -> Work:
        ports = counted([{"port": number, "nodePort": number} for number in range(1, count + 1)])
        before = old and {**old, "ports": counted([{"port": 1, "nodePort": -number} for number in range(count)])}

        def said() -> int:
            NodePorts(request, {}, Random(1)).give({"type": "NodePort", "ports": ports}, before)
            return 0

        return work(said)

    cost = excess(measure)
    assert cost is not None
    assert not grows(cost)

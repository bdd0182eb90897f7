"""Policies: what they choose, where it goes, and who else wants the same."""

import asyncio
from collections import Counter, defaultdict
from typing import Any

from karmada.api.codec import to_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, Placement, PropagationPolicy, ResourceSelector
from karmada.controllers.detector.policy_index import filed, slots
from karmada.dashboard.answers import PRIVATE
from karmada.dashboard.board import Board
from karmada.dashboard.kinds import BINDINGS, POLICIES, WIDE_POLICIES
from karmada.dashboard.redaction import redacted
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import POLICY_VERSION, JSONObject, Ref, key_of, ref
from karmada.dashboard.view import View
from karmada.dashboard.views import view_of
from karmada.machinery.errors import NotFound
from karmada.machinery.httpserver.model import HttpResponse
from karmada.policies.election import Policy, elect
from karmada.policies.matching import Match, Subject, fit

CONFLICTS = 20
"""Conflicts of one policy that are listed."""
COMPARED = 100_000
_STEP = 200
"""Selectors, objects and comparisons between two turns of others: some milliseconds."""
KINDS = ("PropagationPolicy", "ClusterPropagationPolicy")


async def policies(visit: Visit) -> HttpResponse:
    """All policies that may be read."""
    view = await _view(visit)
    return HttpResponse(200, await view.board.policy_rows(_rows), headers=dict(PRIVATE))


async def policy(visit: Visit) -> JSONObject:
    """One policy with what it chooses."""
    _, kind, namespace, name = visit.subject()
    if kind not in KINDS:
        raise NotFound(f"{kind} is no kind of policy: there are {', '.join(KINDS)}")
    view = await _view(visit)
    hub = visit.context.hub
    wide = kind == "ClusterPropagationPolicy"
    found: Policy = await (
        hub.of(ClusterPropagationPolicy).get(name) if wide else hub.of(PropagationPolicy).get(name, namespace)
    )
    own, board = _ref(found), view.board
    matched = [row["ref"] for row in board.workload_rows() if row["policy"] == own]
    tree = to_tree(found)
    tree["metadata"].pop("managedFields", None)
    known = [found, *(one for one in board.policies() if _ref(one) != own)]
    async with visit.context.long:
        row = _row(found, _held(board), await _conflicts(known, board))
    return {**row, "object": redacted(tree), "matched": matched}


async def _view(visit: Visit) -> View:
    """What is seen of policies, in all namespaces or in one; there the cluster-wide ones only if they may be read."""
    view = await view_of(visit)
    needed = {BINDINGS, POLICIES, WIDE_POLICIES}
    await view.ready(*(needed - (view.refused.keys() & {WIDE_POLICIES} if visit.namespace else set())))
    return view


async def _rows(board: Board) -> list[JSONObject]:
    known = sorted(board.policies(), key=lambda one: (one.kind, one.metadata.namespace, one.metadata.name))
    held, conflicts = _held(board), await _conflicts(known, board)
    return [_row(policy, held, conflicts) for policy in known]


def _held(board: Board) -> Counter[str]:
    return Counter(key_of(row["policy"]) for row in board.workload_rows() if row["policy"] is not None)


def _row(policy: Policy, held: Counter[str], conflicts: dict[str, list[JSONObject]]) -> JSONObject:
    own = _ref(policy)
    key = key_of(own)
    return {
        "ref": own,
        "selectors": [_selector(one) for one in policy.spec.resource_selectors],
        "placement": placement_words(policy.spec.placement),
        "matches": held[key],
        "conflicts": conflicts.get(key, []),
    }


async def _conflicts(known: list[Policy], board: Board, most: int = COMPARED) -> dict[str, list[JSONObject]]:
    """Of every policy, the objects that it selects and another holds; no more is looked for after `most` comparisons
    of a policy with an object that it may choose by its name, and others get their turn in between."""
    by_place: defaultdict[str, list[Policy]] = defaultdict(list)
    found: dict[str, list[JSONObject]] = {}
    done = compared = 0
    for policy in known:
        before, done = done, done + 1 + len(policy.spec.resource_selectors)
        if before // _STEP < done // _STEP:
            await asyncio.sleep(0)
        for place in filed(policy):
            by_place[place].append(policy)
    for row in board.workload_rows():
        reference = row["ref"]
        namespace = reference["namespace"]
        subject = Subject(reference["apiVersion"], reference["kind"], namespace, reference["name"], {})
        places = (place for scope in dict.fromkeys(("", namespace)) for place in slots(scope, subject))
        may_choose = {id(one): one for place in places for one in by_place.get(place, ())}.values()
        near = [one for one in may_choose if isinstance(one, PropagationPolicy)]
        wide = [one for one in may_choose if isinstance(one, ClusterPropagationPolicy)]
        before, done = done, done + 1 + len(may_choose)
        if before // _STEP < done // _STEP:
            await asyncio.sleep(0)
        if len(may_choose) < 2:
            continue
        compared += len(may_choose)
        if compared > most:
            break
        subject = subject._replace(labels=board.labels(key_of(reference)))
        everybody: list[Policy] = [*near, *wide]
        choosing = [one for one in everybody if fit(one, subject) is not Match.NONE]
        if len(choosing) < 2:
            continue
        winner: Policy | None = elect(near, subject) or elect(wide, subject)
        holder = row["policy"] or (_ref(winner) if winner is not None else None)
        for one in choosing:
            mine = _ref(one)
            listed = found.setdefault(key_of(mine), [])
            if holder is None or mine == holder or len(listed) >= CONFLICTS:
                continue
            place = f"{reference['namespace']}/{reference['name']}" if reference["namespace"] else reference["name"]
            sentence = f"{reference['kind']} {place} is selected too, but {holder['kind']} {holder['name']} holds it"
            listed.append({"with": holder, "object": reference, "sentence": sentence})
    return found


def _ref(policy: Policy) -> Ref:
    return ref(POLICY_VERSION, policy.kind, policy.metadata.namespace, policy.metadata.name)


def _selector(selector: ResourceSelector) -> str:
    text = f"{selector.kind} ({selector.api_version})"
    if selector.namespace:
        text += f" in {selector.namespace}"
    if selector.name:
        return f"{text} named {selector.name}"
    labels = selector.label_selector
    if labels is None:
        return f"every {text}"
    words = [f"{key}={value}" for key, value in labels.match_labels.items()]
    words += [f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in labels.match_expressions]
    return f"{text} with {', '.join(words) or 'any labels'}"


def placement_words(placement: Placement | None) -> str:
    """A placement in one line."""
    if placement is None:
        return "every cluster"
    tree: dict[str, Any] = to_tree(placement)
    terms = tree.get("clusterAffinities") or ([tree["clusterAffinity"]] if tree.get("clusterAffinity") else [])
    text = "; or else ".join(_affinity(term) for term in terms) or "every cluster"
    for spread in tree.get("spreadConstraints") or ():
        by = spread.get("spreadByField") or spread.get("spreadByLabel") or "cluster"
        most = f" to {spread['maxGroups']}" if spread.get("maxGroups") else ""
        text += f", spread over {spread.get('minGroups', 1)}{most} of {by}"
    scheduling = tree.get("replicaScheduling") or {}
    if scheduling.get("replicaSchedulingType") == "Divided":
        text += f", replicas divided ({scheduling.get('replicaDivisionPreference') or 'Weighted'})"
    elif scheduling:
        text += ", replicas duplicated"
    return text


def _affinity(term: dict[str, Any]) -> str:
    parts = []
    if term.get("clusterNames"):
        parts.append(", ".join(term["clusterNames"]))
    labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
    parts += [f"{key}={value}" for key, value in labels.items()]
    expressions = [
        *((term.get("labelSelector") or {}).get("matchExpressions") or ()),
        *((term.get("fieldSelector") or {}).get("matchExpressions") or ()),
    ]
    parts += [f"{one['key']} {one['operator']} {', '.join(one.get('values') or ())}".strip() for one in expressions]
    if term.get("exclude"):
        parts.append(f"without {', '.join(term['exclude'])}")
    return " and ".join(parts) or "every cluster"

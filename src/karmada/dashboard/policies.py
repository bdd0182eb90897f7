"""Policies: what they choose, where it goes, and who else wants the same."""

import asyncio
from collections import Counter
from typing import Any

from karmada.api.codec import to_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, Placement, PropagationPolicy, ResourceSelector
from karmada.dashboard.board import BINDINGS, Board
from karmada.dashboard.redaction import redacted
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import POLICY_VERSION, JSONObject, Ref, key_of, ref
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope
from karmada.policies.election import Policy, elect
from karmada.policies.matching import Match, Subject, closest

CONFLICTS = 20
"""Conflicts of one policy that are told."""
KINDS = {"PropagationPolicy": PropagationPolicy, "ClusterPropagationPolicy": ClusterPropagationPolicy}


async def policies(visit: Visit) -> list[JSONObject]:
    """All policies that may be read."""
    board, known = await asyncio.gather(_board(visit), _policies(visit.desk.hub, visit.namespace))
    held = _held(board)
    conflicts = _conflicts(known, board)
    return [_row(policy, held, conflicts) for policy in known]


async def policy(visit: Visit) -> JSONObject:
    """One policy with what it chooses."""
    _, kind, namespace, name = visit.subject()
    type_ = KINDS.get(kind)
    if type_ is None:
        raise NotFound(f"{kind} is no kind of policy: there are {', '.join(KINDS)}")
    board, known = await asyncio.gather(_board(visit), _policies(visit.desk.hub, namespace))
    found = next(
        (one for one in known if (one.kind, one.metadata.namespace, one.metadata.name) == (kind, namespace, name)), None
    )
    if found is None:
        raise NotFound(f"there is no {kind} {name}")
    own = _ref(found)
    matched = [row["ref"] for row in board.workload_rows() if row["policy"] == own]
    tree = to_tree(found)
    tree["metadata"].pop("managedFields", None)
    row = _row(found, _held(board), _conflicts(known, board))
    return {**row, "object": redacted(tree), "matched": matched}


async def _board(visit: Visit) -> Board:
    wide = await visit.desk.board()
    if BINDINGS in wide.refused and visit.namespace:
        wide = await visit.desk.board(visit.namespace)
    await wide.ready(BINDINGS)
    return wide


async def _policies(hub: Client, namespace: str) -> list[Policy]:
    """Policies of all namespaces, or of one, and the cluster-wide ones where they may be read."""
    own = (await hub.of(PropagationPolicy).list(Scope(namespace))).items
    try:
        wide = (await hub.of(ClusterPropagationPolicy).list()).items
    except ApiError:
        if not namespace:
            raise
        wide = []
    return [*own, *wide]


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


def _conflicts(known: list[Policy], board: Board) -> dict[str, list[JSONObject]]:
    """Of every policy, the objects that it selects and another holds."""
    own = [one for one in known if isinstance(one, PropagationPolicy)]
    wide = [one for one in known if not isinstance(one, PropagationPolicy)]
    found: dict[str, list[JSONObject]] = {}
    for row in board.workload_rows():
        said, labels = row["ref"], board.labels(key_of(row["ref"]))
        subject = Subject(said["apiVersion"], said["kind"], said["namespace"], said["name"], labels)
        near = [one for one in own if one.metadata.namespace == subject.namespace]
        everybody: list[Policy] = [*near, *wide]
        choosing = [one for one in everybody if closest(one.spec.resource_selectors, subject) is not Match.NONE]
        if len(choosing) < 2:
            continue
        winner: Policy | None = elect(near, subject) or elect(wide, subject)
        holder = row["policy"] or (_ref(winner) if winner is not None else None)
        for one in choosing:
            mine = _ref(one)
            told = found.setdefault(key_of(mine), [])
            if holder is None or mine == holder or len(told) >= CONFLICTS:
                continue
            place = f"{said['namespace']}/{said['name']}" if said["namespace"] else said["name"]
            sentence = f"{said['kind']} {place} is selected too, but {holder['kind']} {holder['name']} holds it"
            told.append({"with": holder, "object": said, "sentence": sentence})
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

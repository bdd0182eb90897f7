"""Topic `webhook`: admission of Karmada's kinds."""

import asyncio
import copy
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError
from karmada.api.feature_gates import FeatureGates
from karmada.api.kinds import KINDS
from karmada.api.quantity import Quantity
from karmada.testing.golden import known
from karmada.testing.golden.bare import as_written_by_go
from karmada.testing.golden.case import Topic
from karmada.testing.golden.compare import first_difference
from karmada.testing.golden.topics.cluster_admission import admit_cluster
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Handler, Operation, Review

JSONObject = dict[str, Any]
_HEADERS = re.compile(r'"ProxyHeader":\{[^{}]+\}')
_UNDECODED = re.compile("json: cannot unmarshal|quantities must match|unable to parse quantity|parsing time")
"""How messages of Go's decoders begin."""
_EXTERNAL = 'Unsupported value: "External"'
"""Not a reason to refuse here: what else is wrong with such a metric is said instead."""
_TYPES = {kind.kind: kind.versions[-1].type for kind in KINDS}


class _Stored:
    """Objects that exist already."""

    def __init__(self, existing: list[JSONObject]) -> None:
        self.objects = existing

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[JSONObject]:
        return [
            tree
            for tree in self.objects
            if tree.get("kind") == kind and (not namespace or tree["metadata"].get("namespace") == namespace)
        ]

    async def replace_status(self, api_version: str, kind: str, tree: JSONObject, dry_run: bool) -> None:
        if dry_run:
            return
        for stored in self.objects:
            if stored["metadata"]["name"] == tree["metadata"]["name"]:
                stored["status"] = tree.get("status")

    async def labels_of(self, namespace: str) -> dict[str, str]:
        return {}

    def quotas(self) -> JSONObject:
        """What is recorded as used in every quota, as a typed client spells it that reads it."""
        found = {
            f"{tree['metadata']['namespace']}/{tree['metadata']['name']}": _respelled(tree)
            for tree in self.objects
            if tree.get("kind") == "FederatedResourceQuota"
        }
        return {"quotaOverallUsedAfter": found} if found else {}


def _respelled(quota: JSONObject) -> dict[str, str] | None:
    used = (quota.get("status") or {}).get("overallUsed")
    return {name: str(Quantity.parse(amount)) for name, amount in used.items()} if used is not None else None


def _admit(given: dict[str, Any]) -> dict[str, Any]:
    if given["handler"] == "cluster":
        return admit_cluster(given)
    kind, _, resource = given["handler"].partition("/")
    handler = next(handler for handler in HANDLERS if handler.resource == _PLURALS[resource])
    stored = _Stored(copy.deepcopy(given.get("existing") or []))
    review = Review(
        Operation(given["operation"]),
        given.get("namespace", ""),
        (given.get("object") or given.get("oldObject") or {}).get("metadata", {}).get("name", ""),
        given.get("object") or {},
        given.get("oldObject"),
        lambda: str(uuid.uuid4()),
        time.time,
        FeatureGates().with_overrides(given.get("featureGates") or {}),
        stored,
        bool(given.get("dryRun")),
        bool(given.get("allowNoExecuteTaintPolicy")),
    )
    outcome: dict[str, Any]
    try:
        _call(handler, kind, review)
    except Denied as denial:
        outcome = {"allowed": False, "code": denial.code, "reason": denial.reason, "message": denial.message}
        return outcome | stored.quotas()
    if kind == "mutate":
        return {"allowed": True, "object": review.object}
    return {"allowed": True, "code": 200, "message": "", "reason": ""} | stored.quotas()


def _call(handler: Handler, kind: str, review: Review) -> None:
    if kind == "mutate":
        assert handler.mutate is not None
        handler.mutate(review)
    else:
        assert handler.validate is not None
        if review.operation not in handler.validate_on:
            return
        validate: Callable[[Review], Any] = handler.validate
        asyncio.run(validate(review))


_PLURALS = {
    "propagationpolicy": "propagationpolicies",
    "clusterpropagationpolicy": "clusterpropagationpolicies",
    "overridepolicy": "overridepolicies",
    "clusteroverridepolicy": "clusteroverridepolicies",
    "resourcebinding": "resourcebindings",
    "clusterresourcebinding": "clusterresourcebindings",
    "work": "works",
    "clustertaintpolicy": "clustertaintpolicies",
    "resourcedeletionprotection": "*",
    "resourceinterpreterwebhookconfiguration": "resourceinterpreterwebhookconfigurations",
    "cronfederatedhpa": "cronfederatedhpas",
    "multiclusterservice": "multiclusterservices",
    "federatedresourcequota": "federatedresourcequotas",
    "federatedhpa": "federatedhpas",
    "multiclusteringress": "multiclusteringresses",
    "resourceinterpretercustomization": "resourceinterpretercustomizations",
}


def _compare(expected: Any, actual: Any) -> str | None:
    """A body that does not decode is refused in our own words, whatever else is wrong with it, and a script in those
    of its engine."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        refused = expected.get("allowed") is actual.get("allowed") is False
        message = expected.get("message") or ""
        if refused and (expected.get("code") == 400 or _UNDECODED.match(message) or _EXTERNAL in message):
            return None
        expected, actual = _with_plain_message(expected), _with_plain_message(actual)
        expected, actual = _with_object_of_go(expected), _with_object_of_go(actual)
    return first_difference(expected, actual)


def _with_plain_message(outcome: JSONObject) -> JSONObject:
    """Without an engine's words about a script, and without proxy headers, which the reference quotes in clear."""
    message = outcome.get("message") or ""
    head, mark, _ = message.replace('"External", ', "").partition("Lua script error: ")
    plain = _HEADERS.sub('"ProxyHeader":"..."', head + mark)
    return {**outcome, "message": plain} if plain != message else outcome


def _with_object_of_go(outcome: JSONObject) -> JSONObject:
    """Mutated objects are compared as Go writes them: it drops zero values and what the type does not know."""
    tree = outcome.get("object")
    if tree is None:
        return outcome
    try:
        return {**outcome, "object": as_written_by_go(tree, _TYPES.get(tree.get("kind"), Cluster))}
    except DecodeError:
        return outcome


TOPIC = Topic("webhook", {"webhook.Admit": _admit}, excuses=known.WEBHOOK, compare=_compare)

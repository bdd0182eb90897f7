"""Reads and writes an instance's objects in the host cluster; touches nothing that is not marked as the instance's."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from karmada.api.labels import APP_INSTANCE, APP_MANAGED_BY
from karmada.machinery.client import Client
from karmada.machinery.codec import Identity
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Propagation, Resource, Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.operator.plan import MANAGER, RUNNING

SECRETS = GroupVersionResource("", "v1", "secrets")
SERVICES = GroupVersionResource("", "v1", "services")
NODES = GroupVersionResource("", "v1", "nodes")
KINDS = {
    "Deployment": GroupVersionResource("apps", "v1", "deployments"),
    "StatefulSet": GroupVersionResource("apps", "v1", "statefulsets"),
    "Service": SERVICES,
    "PodDisruptionBudget": GroupVersionResource("policy", "v1", "poddisruptionbudgets"),
    "NetworkPolicy": GroupVersionResource("networking.k8s.io", "v1", "networkpolicies"),
    "ServiceAccount": GroupVersionResource("", "v1", "serviceaccounts"),
    "Secret": SECRETS,
}
LISTED = tuple(kind for kind in KINDS if kind != "Secret")
"""Kinds that are listed; Secrets are only ever read by their names."""
APPLIED = "operator.karmada.io/applied"
"""Annotation: a fingerprint of what was applied, by which something left out since is noticed."""


class Refused(Exception):
    """Something in the host cluster is in the way; the message names it and the remedy."""


class Host:
    """The host cluster as one instance sees it."""

    def __init__(self, client: Client, namespace: str, instance: str) -> None:
        self._client = client
        self.namespace = namespace
        self._instance = instance

    async def secret(self, name: str) -> JSONObject | None:
        """A Secret, whoever's it is."""
        return await self._get(self._client.resource(SECRETS), name)

    async def own_secret(self, name: str) -> JSONObject | None:
        """A Secret of the instance."""
        found = await self.secret(name)
        if found is not None:
            self._check(found, "Secret")
        return found

    async def service(self, name: str) -> JSONObject | None:
        """A Service."""
        return await self._get(self._client.resource(SERVICES), name)

    async def node_address(self) -> str:
        """Where a node of the host cluster is reached, for node ports; empty if there is none."""
        for node in (await self._client.resource(NODES).list()).items:
            for entry in (node.get("status") or {}).get("addresses") or ():
                if entry.get("type") == "InternalIP":
                    return str(entry["address"])
        return ""

    async def workload(self, tree: JSONObject) -> JSONObject | None:
        """What there is of a wanted object."""
        return await self._get(self._client.resource(KINDS[tree["kind"]]), tree["metadata"]["name"])

    async def apply(self, objects: Iterable[JSONObject]) -> None:
        """Have objects be as wanted; fields that others own stay theirs."""
        for tree in objects:
            resource = self._client.resource(KINDS[tree["kind"]])
            current = await self._get(resource, tree["metadata"]["name"])
            if current is not None:
                self._check(current, tree["kind"])
            if differs(marked(tree), current):
                await resource.apply(marked(tree), field_manager=MANAGER, force=True)

    async def waits_for(self, objects: Iterable[JSONObject]) -> str:
        """The first of the workloads that is not ready in its newest form; empty if all are."""
        for tree in objects:
            if tree["kind"] in RUNNING and not is_ready(await self.workload(tree)):
                return f"{tree['kind'].lower()}/{tree['metadata']['name']}"
        return ""

    async def prune(self, wanted: Sequence[JSONObject], secrets: Sequence[str]) -> int:
        """Delete the instance's objects that are not wanted, and Secrets by their names; how many there were."""
        keep = {(tree["kind"], tree["metadata"]["name"]) for tree in wanted}
        gone = 0
        scope = Scope(self.namespace, f"{APP_MANAGED_BY}={MANAGER},{APP_INSTANCE}={self._instance}")
        for kind in LISTED:
            resource = self._client.resource(KINDS[kind])
            for found in (await resource.list(scope)).items:
                if (kind, found["metadata"]["name"]) not in keep:
                    gone += await self._delete(resource, found)
        resource = self._client.resource(SECRETS)
        for name in secrets:
            found_secret = await self._get(resource, name)
            if found_secret is not None and self._is_own(found_secret):
                gone += await self._delete(resource, found_secret)
        return gone

    async def _delete(self, resource: Resource[JSONObject], found: JSONObject) -> int:
        about = found["metadata"]
        if about.get("deletionTimestamp") is None:
            try:
                which = Identity(uid=about["uid"])
                propagation = Propagation.BACKGROUND
                await resource.delete(about["name"], self.namespace, only_if=which, propagation=propagation)
            except NotFound:
                return 0
        return 1

    async def _get(self, resource: Resource[JSONObject], name: str) -> JSONObject | None:
        try:
            return await resource.get(name, self.namespace)
        except NotFound:
            return None

    def _is_own(self, found: JSONObject) -> bool:
        labels = found["metadata"].get("labels") or {}
        return bool(labels.get(APP_MANAGED_BY) == MANAGER and labels.get(APP_INSTANCE) == self._instance)

    def _check(self, found: JSONObject, kind: str) -> None:
        if not self._is_own(found):
            name = found["metadata"]["name"]
            text = (
                f"{kind.lower()}/{name} exists and is not of this Karmada: remove it, or give the Karmada another name"
            )
            raise Refused(text)


def marked(tree: JSONObject) -> JSONObject:
    """An object with its fingerprint."""
    about = tree["metadata"]
    known = hashlib.sha256(orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
    return {**tree, "metadata": {**about, "annotations": {**about.get("annotations", {}), APPLIED: known}}}


def differs(wanted: JSONObject, current: JSONObject | None) -> bool:
    """Whether an object must be applied: something wanted is not so, or was left out since."""
    return current is None or not _holds(wanted, current)


def is_ready(found: JSONObject | None) -> bool:
    """Whether all replicas of a workload run in its newest form."""
    if found is None:
        return False
    status, wanted = found.get("status") or {}, found["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
        return False
    return bool(
        min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0)) >= wanted
        and status.get("replicas", 0) <= wanted
    )


def _holds(wanted: Any, current: Any) -> bool:
    """Whether everything wanted is there; what is there beside it is somebody else's."""
    if isinstance(wanted, dict):
        return isinstance(current, dict) and all(_holds(value, current.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(current, list) and len(wanted) == len(current) and all(map(_holds, wanted, current))
    return bool(wanted == current) or (not wanted and current is None)

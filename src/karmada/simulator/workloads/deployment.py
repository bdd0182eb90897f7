"""Deployments: one ReplicaSet per pod template, and a gentle way from the old ones to the new one."""

from karmada.api import merge_patch
from karmada.machinery.clock import rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result
from karmada.machinery.errors import AlreadyExists, NotFound
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.adoption import Adoption
from karmada.simulator.workloads.context import Workloads, foreign_changes
from karmada.simulator.workloads.deployment_status import seconds_left, status_of
from karmada.simulator.workloads.kinds import DEPLOYMENTS, REPLICA_SETS
from karmada.simulator.workloads.pod_making import owner_reference
from karmada.simulator.workloads.revisions import owners
from karmada.simulator.workloads.rollout import (
    DESIRED,
    HASH_LABEL,
    MAXIMUM,
    REVISION,
    Limits,
    Size,
    grown,
    limits_of,
    proportional,
    replicas_of,
    same_template,
    shrunk,
    template_hash,
)
from karmada.simulator.workloads.views import meta_of

COMPONENT = "deployment-controller"
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
)


class DeploymentController:
    """Reconciles Deployments: one ReplicaSet per pod template, rolled out within its limits."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._deployments = context.trees(DEPLOYMENTS)
        self._sets = context.trees(REPLICA_SETS)
        self._sets.add_index("owner", owners)
        self._resource = context.client.resource(REPLICA_SETS)
        self._own = context.client.resource(DEPLOYMENTS)
        self._commit = Committer(self._own)
        self._commit_set = Committer(self._resource)
        self._adoption = Adoption(self._sets, self._resource)
        self.controller = context.controller(COMPONENT, self.reconcile, (self._deployments, self._sets, context.pods))
        self.controller.watch(self._deployments, foreign_changes(self._commit))
        self.controller.watch(self._sets, _deployments)

    async def reconcile(self, key: Key) -> Result:
        """Move one rollout a step on and report."""
        deployment = self._deployments.get(key.name, key.namespace)
        if deployment is None:
            return DONE
        if await self._adoption.adopt(deployment):
            return DONE
        sets = sorted(self._sets.indexed("owner", deployment["metadata"]["uid"]), key=_age)
        new = next(
            (one for one in sets if same_template(one["spec"]["template"], deployment["spec"]["template"])), None
        )
        if not deployment["metadata"].get("deletionTimestamp"):
            new = await self._move(deployment, new, [one for one in sets if one is not new])
            if new is not None and all(one["metadata"]["uid"] != new["metadata"]["uid"] for one in sets):
                sets.append(new)
        now = self._context.clock.now()
        deployment = await self._report(deployment, new, sets, rfc3339(now))
        left = seconds_left(deployment, now)
        return DONE if left is None else RequeueAfter(left)

    async def _move(self, deployment: JSONObject, new: JSONObject | None, old: list[JSONObject]) -> JSONObject | None:
        """One step; the new ReplicaSet."""
        limits = limits_of(deployment)
        active = [one for one in old if replicas_of(one)]
        if deployment["spec"].get("paused"):
            await self._scale_all(deployment, limits, new, active)
            return new
        recreate = (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"
        if new is not None and await self._scale_all(deployment, limits, new, active):
            return new
        if recreate and (active or self._have_pods(old)):
            for one in active:
                await self._resize(deployment, one, 0)
            return new
        if new is None:
            return await self._create(deployment, limits, old)
        new = await self._refresh(deployment, new, old)
        size = grown(replicas_of(deployment), limits, _size(new), [_size(one) for one in active])
        if size != replicas_of(new):
            await self._resize(deployment, new, size)
            return new
        by_name = {one["metadata"]["name"]: one for one in active}
        smaller = shrunk(replicas_of(deployment), limits, _size(new), [_size(one) for one in active])
        for name, replicas in smaller.items():
            await self._resize(deployment, by_name[name], replicas)
        if not active:
            await self._clean_up(deployment, old)
        return new

    async def _scale_all(
        self, deployment: JSONObject, limits: Limits, new: JSONObject | None, active: list[JSONObject]
    ) -> bool:
        """Follow a change of the Deployment's replicas; whether there was one."""
        wanted = replicas_of(deployment)
        sets = [one for one in (new, *active) if one is not None]
        stale = [one for one in sets if replicas_of(one) and _annotation(one, DESIRED) not in ("", str(wanted))]
        if not stale:
            return False
        running = [one for one in sets if replicas_of(one)]
        if len(running) <= 1:
            for one in running:
                await self._resize(deployment, one, wanted)
            return True
        sized = [(_size(one), int(_annotation(one, MAXIMUM) or 0)) for one in running]
        sizes = proportional(wanted, limits, sized)
        for one in running:
            await self._resize(deployment, one, sizes.get(one["metadata"]["name"], replicas_of(one)))
        return True

    def _have_pods(self, sets: list[JSONObject]) -> bool:
        return any(
            not pod.is_finished for one in sets for pod in self._context.pods.indexed("owner", one["metadata"]["uid"])
        )

    async def _create(self, deployment: JSONObject, limits: Limits, old: list[JSONObject]) -> JSONObject | None:
        metadata, spec = deployment["metadata"], deployment["spec"]
        collisions = (deployment.get("status") or {}).get("collisionCount") or 0
        mark = template_hash(spec["template"], collisions)
        template = dict(spec["template"])
        model = dict(template.get("metadata") or {})
        model["labels"] = {**(model.get("labels") or {}), HASH_LABEL: mark}
        template["metadata"] = {name: value for name, value in model.items() if value is not None}
        selector = dict(spec.get("selector") or {})
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: mark}
        replicas = grown(replicas_of(deployment), limits, Size("", 0, 0), [_size(one) for one in old])
        new: JSONObject = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{metadata['name']}-{mark}",
                "namespace": metadata["namespace"],
                "labels": model["labels"],
                "annotations": _annotations(deployment, limits) | {REVISION: str(_latest(old) + 1)},
                "ownerReferences": [owner_reference(deployment)],
            },
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        }
        if spec.get("minReadySeconds"):
            new["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        try:
            made = await self._resource.create(new)
        except AlreadyExists:
            return await self._existing(deployment, new)
        self._scaled(deployment, made["metadata"]["name"], 0, replicas)
        return made

    async def _existing(self, deployment: JSONObject, new: JSONObject) -> JSONObject | None:
        """The set of that name is ours and the cache is behind, or it is another one and the next hash is tried."""
        metadata = new["metadata"]
        try:
            found = await self._resource.get(metadata["name"], metadata["namespace"])
        except NotFound:
            return None
        owners = found["metadata"].get("ownerReferences") or ()
        if any(owner["uid"] == deployment["metadata"]["uid"] for owner in owners) and same_template(
            found["spec"]["template"], new["spec"]["template"]
        ):
            return found

        def collided(seen: JSONObject) -> JSONObject:
            status = seen.get("status") or {}
            return seen | {"status": status | {"collisionCount": (status.get("collisionCount") or 0) + 1}}

        await self._commit.commit(deployment, collided)
        self.controller.enqueue(Key(metadata["namespace"], deployment["metadata"]["name"]))
        return None

    async def _refresh(self, deployment: JSONObject, new: JSONObject, old: list[JSONObject]) -> JSONObject:
        """Give a set that is new (again) the latest revision and the Deployment's annotations."""
        revision = max(_latest(old) + 1, _revision(new))
        annotations = _annotations(deployment, limits_of(deployment)) | {REVISION: str(revision)}
        seconds = deployment["spec"].get("minReadySeconds") or 0

        def decide(seen: JSONObject) -> JSONObject:
            decided = annotated(seen, annotations)
            if seconds != (seen["spec"].get("minReadySeconds") or 0):
                decided = decided | {"spec": seen["spec"] | {"minReadySeconds": seconds}}
            return decided

        outcome = await self._commit_set.commit(new, decide)
        return getattr(outcome, "value", new)

    async def _resize(self, deployment: JSONObject, one: JSONObject, replicas: int) -> None:
        before = replicas_of(one)
        annotations = _sizes(deployment, limits_of(deployment))

        def decide(seen: JSONObject) -> JSONObject:
            return annotated(seen, annotations) | {"spec": seen["spec"] | {"replicas": replicas}}

        await self._commit_set.commit(one, decide)
        if before != replicas:
            self._scaled(deployment, one["metadata"]["name"], before, replicas)

    def _scaled(self, deployment: JSONObject, name: str, before: int, after: int) -> None:
        if before == after:
            return
        direction = "up" if after > before else "down"
        text = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._context.event(COMPONENT, deployment, "Normal", "ScalingReplicaSet", text)

    async def _report(
        self, deployment: JSONObject, new: JSONObject | None, sets: list[JSONObject], stamp: str
    ) -> JSONObject:
        """Write the status, and with it the revision when it is a new one; the Deployment as it is then."""
        metadata = deployment["metadata"]
        revision = _annotation(new, REVISION) if new is not None else ""
        settled = deployment["spec"].get("paused") or metadata.get("deletionTimestamp")
        if settled or revision in ("", _annotation(deployment, REVISION)):
            outcome = await self._commit.commit(
                deployment, lambda seen: seen | {"status": status_of(seen, new, sets, stamp)}
            )
            return getattr(outcome, "value", deployment)
        # By way of the status, as the real controller does it: the generation stays.
        status = merge_patch.create(deployment.get("status") or {}, status_of(deployment, new, sets, stamp))
        change: JSONObject = {
            "metadata": {"annotations": {REVISION: revision}, "resourceVersion": metadata["resourceVersion"]},
            "status": status,
        }
        return await self._own.patch(metadata["name"], change, metadata["namespace"], subresource="status")

    async def _clean_up(self, deployment: JSONObject, old: list[JSONObject]) -> None:
        limit = deployment["spec"].get("revisionHistoryLimit")
        if limit is None:
            return
        idle = [
            one
            for one in sorted(old, key=_revision)
            if not replicas_of(one)
            and not (one.get("status") or {}).get("replicas")
            and one["metadata"].get("generation", 0) <= (one.get("status") or {}).get("observedGeneration", 0)
        ]
        for one in idle[: max(0, len(old) - limit)]:
            await self._commit_set.remove(one, lambda seen: not replicas_of(seen))


def annotated(obj: JSONObject, annotations: dict[str, str]) -> JSONObject:
    """The object with annotations; the very same object when it has them already."""
    metadata = obj["metadata"]
    present = metadata.get("annotations") or {}
    if annotations.items() <= present.items():
        return obj
    return obj | {"metadata": metadata | {"annotations": present | annotations}}


def _deployments(change: Change[JSONObject]) -> list[Key]:
    found = []
    for item in (change.new, change.old):
        if item is not None:
            references = meta_of(item.body).owner_references or ()
            found += [Key(item.key.namespace, ref.name) for ref in references if ref.kind == "Deployment"]
    return list(dict.fromkeys(found))


def _age(one: JSONObject) -> tuple[str, str]:
    return one["metadata"].get("creationTimestamp") or "", one["metadata"]["name"]


def _size(one: JSONObject) -> Size:
    available = (one.get("status") or {}).get("availableReplicas", 0)
    return Size(one["metadata"]["name"], replicas_of(one), available)


def _annotation(one: JSONObject, name: str) -> str:
    return str((one["metadata"].get("annotations") or {}).get(name, ""))


def _revision(one: JSONObject) -> int:
    text = _annotation(one, REVISION)
    return int(text) if text.isdecimal() else 0


def _latest(sets: list[JSONObject]) -> int:
    return max(map(_revision, sets), default=0)


def _sizes(deployment: JSONObject, limits: Limits) -> dict[str, str]:
    replicas = replicas_of(deployment)
    return {DESIRED: str(replicas), MAXIMUM: str(replicas + limits.surge)}


def _annotations(deployment: JSONObject, limits: Limits) -> dict[str, str]:
    given = deployment["metadata"].get("annotations") or {}
    return {name: value for name, value in given.items() if name not in _NOT_COPIED} | _sizes(deployment, limits)

"""StatefulSets: numbered pods with volumes of their own, made, replaced and deleted in order."""

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, Retry, own_key
from karmada.machinery.errors import AlreadyExists, ApiError
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import CLAIMS, STATEFUL_SETS
from karmada.simulator.workloads.pod_making import PodMaker, from_template, owner_name
from karmada.simulator.workloads.replicaset import is_available, next_available
from karmada.simulator.workloads.revisions import LABEL, Revisions
from karmada.simulator.workloads.rollout import replicas_of
from karmada.simulator.workloads.views import Pod

COMPONENT = "statefulset-controller"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


class StatefulSetController:
    """Reconciles StatefulSets: numbered pods with volumes of their own, created, replaced and deleted in order."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._sets = context.trees(STATEFUL_SETS)
        self._commit = Committer(context.client.resource(STATEFUL_SETS))
        self._claims = context.client.resource(CLAIMS)
        self._maker = PodMaker(context, COMPONENT)
        self._revisions = Revisions(context)
        needs = (self._sets, self._revisions.informer, context.pods)
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        self.controller.watch(self._sets, own_key)
        self.controller.watch(context.pods, self._owners)

    def _owners(self, change: Change[Pod]) -> list[Key]:
        self._maker.expectations.gone(change)
        return [Key(*which) for which in owner_name(change, "StatefulSet")]

    async def reconcile(self, key: Key) -> Result:
        """Move one set on and report."""
        one = self._sets.get(key.name, key.namespace)
        if one is None or one["metadata"].get("deletionTimestamp"):
            return DONE
        pods = {ordinal_of(pod): pod for pod in self._maker.owned(one["metadata"]["uid"])}
        newest = await self._revisions.current(one)
        current = ((one.get("status") or {}).get("currentRevision") or "").removeprefix(f"{key.name}-") or newest
        failure = None
        if self._maker.expectations.satisfied(one["metadata"]["uid"], pods.values()):
            failure = await self._move(one, pods, current, newest)
        now = self._context.clock.now()
        status = status_of(one, list(pods.values()), current, newest, now)
        await self._commit.commit(one, lambda seen: seen | {"status": status})
        if failure is not None:
            return Retry(failure)
        soonest = next_available(list(pods.values()), one["spec"].get("minReadySeconds") or 0, now)
        return RequeueAfter(soonest) if soonest is not None else DONE

    async def _move(self, one: JSONObject, pods: dict[int, Pod], current: str, newest: str) -> ApiError | None:
        """Make, delete or replace what comes next in order."""
        spec = one["spec"]
        ordered = spec.get("podManagementPolicy") != "Parallel"
        first = (spec.get("ordinals") or {}).get("start") or 0
        wanted = range(first, first + replicas_of(one))
        partition = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0
        missing: list[JSONObject] = []
        for ordinal in wanted:
            pod = pods.get(ordinal)
            if pod is None:
                mark = newest if ordinal >= partition + first or current == newest else current
                missing.append(await self._pod(one, ordinal, mark))
                if ordered:
                    break
            elif pod.is_finished and not pod.is_deleted:
                await self._maker.delete(one, [pod])
                return None
            elif ordered and not self._serves(one, pod):
                break
        if missing:
            return await self._maker.create(one, missing)
        if ordered and not all(self._serves(one, pods[n]) for n in wanted if n in pods):
            condemned = []
        else:
            condemned = sorted((n for n in pods if n not in wanted and not pods[n].is_deleted), reverse=True)
        if condemned:
            await self._maker.delete(one, [pods[n] for n in (condemned[:1] if ordered else condemned)])
        elif (spec.get("updateStrategy") or {}).get("type") != "OnDelete":
            await self._replace(one, [pods[n] for n in wanted if n in pods and n >= first + partition], newest)
        return None

    async def _replace(self, one: JSONObject, pods: list[Pod], newest: str) -> None:
        """Replace the last pod that is old, when all after it are new and serve."""
        for pod in reversed(pods):
            if not _is_of(one, pod, newest):
                if not pod.is_deleted:
                    await self._maker.delete(one, [pod])
                return
            if not self._serves(one, pod):
                return

    def _serves(self, one: JSONObject, pod: Pod) -> bool:
        """Whether the next pod may follow."""
        seconds = one["spec"].get("minReadySeconds") or 0
        return not pod.is_deleted and is_available(pod, seconds, self._context.clock.now())

    async def _pod(self, one: JSONObject, ordinal: int, mark: str) -> JSONObject:
        name = f"{one['metadata']['name']}-{ordinal}"
        pod = from_template(one, self._revisions.template(one, mark), name=name)
        labels = {NAME_LABEL: name, INDEX_LABEL: str(ordinal), LABEL: f"{one['metadata']['name']}-{mark}"}
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **labels}
        pod["spec"] |= {"hostname": name, "subdomain": one["spec"].get("serviceName") or ""}
        if not pod["spec"]["subdomain"]:
            del pod["spec"]["subdomain"]
        claims = one["spec"].get("volumeClaimTemplates") or []
        if claims:
            volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
            for template in claims:
                claim = await self._claim(one, template, name)
                volumes[template["metadata"]["name"]] = {
                    "name": template["metadata"]["name"],
                    "persistentVolumeClaim": {"claimName": claim},
                }
            pod["spec"]["volumes"] = list(volumes.values())
        return pod

    async def _claim(self, one: JSONObject, template: JSONObject, pod: str) -> str:
        metadata = template["metadata"]
        name = f"{metadata['name']}-{pod}"
        labels = {**(metadata.get("labels") or {}), **((one["spec"].get("selector") or {}).get("matchLabels") or {})}
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": one["metadata"]["namespace"], "labels": labels},
            "spec": template.get("spec") or {},
        }
        try:
            await self._claims.create(claim)
        except AlreadyExists:
            return name
        return name


def ordinal_of(pod: Pod) -> int:
    """The number of a pod."""
    text = pod.metadata.name.rpartition("-")[2]
    return int(text) if text.isdecimal() else -1


def _is_of(one: JSONObject, pod: Pod, mark: str) -> bool:
    """Whether a pod is of a revision: pods of StatefulSets carry its whole name."""
    return (pod.metadata.labels or {}).get(LABEL) == f"{one['metadata']['name']}-{mark}"


def status_of(one: JSONObject, pods: list[Pod], current: str, newest: str, now: float) -> JSONObject:
    """The status of a set with these pods; a rollout that is over makes the newest revision the current one."""
    name = one["metadata"]["name"]
    active = [pod for pod in pods if pod.is_active]
    ready = [pod for pod in active if pod.is_ready]
    updated = [pod for pod in active if _is_of(one, pod, newest)]
    replicas = replicas_of(one)
    strategy = one["spec"].get("updateStrategy") or {}
    rolling = strategy.get("type") != "OnDelete" and not (strategy.get("rollingUpdate") or {}).get("partition")
    if rolling and len(updated) == len(active) == len(ready) == replicas:
        current = newest
    available = [pod for pod in ready if is_available(pod, one["spec"].get("minReadySeconds") or 0, now)]
    status: JSONObject = {
        "observedGeneration": one["metadata"].get("generation", 0),
        "replicas": len(active),
        "readyReplicas": len(ready),
        "availableReplicas": len(available),
        "currentReplicas": sum(_is_of(one, pod, current) for pod in active),
        "updatedReplicas": len(updated),
        "currentRevision": f"{name}-{current}",
        "updateRevision": f"{name}-{newest}",
        "collisionCount": 0,
    }
    kept = ("observedGeneration", "replicas", "availableReplicas", "collisionCount")
    return {field: value for field, value in status.items() if value or field in kept}

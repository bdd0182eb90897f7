"""ResourceQuotas: what is enforced and how much of it is used. Admission raises the count, this recounts it."""

from typing import Any

from karmada.api.quantity import Quantity
from karmada.apiserver.admission.usage import matches_scopes, usage_of
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.resources import ResourceType
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import CLAIMS, QUOTAS, SERVICES
from karmada.simulator.workloads.views import Pod

COMPONENT = "resourcequota-controller"
RECOUNT = 60.0
"""Seconds after which objects are counted again that nobody follows."""
SETTLING = 2.0
"""Seconds for which fewer objects must be seen than are counted before the count is lowered: admission counts an object
before it is there, and a lower count would let one more in."""
_ZERO = Quantity.parse("0")


class QuotaController:
    """Keeps the status of ResourceQuotas."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._quotas = context.trees(QUOTAS)
        self._followed = {"services": context.trees(SERVICES), "persistentvolumeclaims": context.trees(CLAIMS)}
        self._commit = Committer(context.client.resource(QUOTAS))
        self._surplus: dict[Key, tuple[str, float]] = {}
        """By quota that counts more than is seen: its resourceVersion, and since when."""
        needs: list[Informer[Any]] = [self._quotas, context.pods, *self._followed.values()]
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        self.controller.watch(self._quotas, own_key)
        self.controller.watch(context.pods, self._of_pod)
        for informer in self._followed.values():
            self.controller.watch(informer, lambda change: self._in(change.key.namespace))

    def _of_pod(self, change: Change[Pod]) -> list[Key]:
        old, new = change.old, change.new
        counted = old is None or new is None or old.value.is_finished != new.value.is_finished
        return self._in(change.key.namespace) if counted else []

    def _in(self, namespace: str) -> list[Key]:
        if not self._quotas.has_synced:
            return []
        return [item.key for item in self._quotas.all_items(namespace)]

    async def reconcile(self, key: Key) -> Result:
        """Count for one quota."""
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None or quota["metadata"].get("deletionTimestamp"):
            self._surplus.pop(key, None)
            return DONE
        hard: JSONObject = quota["spec"].get("hard") or {}
        used: dict[str, Quantity] = dict.fromkeys(hard, _ZERO)
        listed = False
        for type_ in counted_types(hard):
            objects, followed = await self._objects(type_, key.namespace)
            listed |= not followed
            for obj in objects:
                if type_.plural == "pods" and not matches_scopes(quota["spec"], obj):
                    continue
                for name, amount in usage_of(type_, obj).items():
                    if name in used:
                        used[name] = used[name] + amount
        wait = self._wait(key, quota, used)

        def counted(seen: JSONObject) -> JSONObject:
            # Who was let in meanwhile is counted there and not seen here yet.
            keep = wait or seen["metadata"]["resourceVersion"] != quota["metadata"]["resourceVersion"]
            amounts = {name: max(amount, _counted(seen, name)) if keep else amount for name, amount in used.items()}
            return seen | {"status": {"hard": hard, "used": {name: str(amount) for name, amount in amounts.items()}}}

        await self._commit.commit(quota, counted)
        if wait:
            return RequeueAfter(wait)
        return RequeueAfter(RECOUNT) if listed else DONE

    def _wait(self, key: Key, quota: JSONObject, used: dict[str, Quantity]) -> float:
        """Seconds until the count may be lowered, if it should be."""
        if not any(amount < _counted(quota, name) for name, amount in used.items()):
            self._surplus.pop(key, None)
            return 0.0
        now, version = self._context.clock.monotonic(), quota["metadata"]["resourceVersion"]
        known, since = self._surplus.get(key, ("", now))
        if known != version:
            self._surplus[key] = (version, now)
            return SETTLING
        return max(since + SETTLING - now, 0.0)

    async def _objects(self, type_: ResourceType, namespace: str) -> tuple[list[JSONObject], bool]:
        decode = self._context.client.resource(QUOTAS).codec.decode
        if (type_.group, type_.plural) == ("", "pods"):
            return [decode(item.body) for item in self._context.pods.all_items(namespace)], True
        if not type_.group and type_.plural in self._followed:
            return self._followed[type_.plural].values(namespace), True
        resource = self._context.client.resource(GroupVersionResource(type_.group, type_.version, type_.plural))
        try:
            return (await resource.list(Scope(namespace))).items, False
        except ApiError as error:
            if error.transient:
                raise
            return [], False


def _counted(quota: JSONObject, name: str) -> Quantity:
    found = ((quota.get("status") or {}).get("used") or {}).get(name)
    return Quantity.parse(found) if found is not None else _ZERO


def counted_types(hard: JSONObject) -> list[ResourceType]:
    """The types that a quota with these limits counts."""
    names: set[tuple[str, str]] = set()
    for name in hard:
        if name.startswith("count/"):
            plural, _, group = name.removeprefix("count/").partition(".")
            names.add((group, plural))
        elif name in ("configmaps", "secrets", "replicationcontrollers", "resourcequotas"):
            names.add(("", name))
        elif name.startswith("services"):
            names.add(("", "services"))
        elif name == "persistentvolumeclaims" or name.endswith("requests.storage"):
            names.add(("", "persistentvolumeclaims"))
        else:
            names.add(("", "pods"))
    found: dict[tuple[str, str], ResourceType] = {}
    for type_ in builtin_types():
        if (type_.group, type_.plural) in names:
            found.setdefault((type_.group, type_.plural), type_)
    return list(found.values())

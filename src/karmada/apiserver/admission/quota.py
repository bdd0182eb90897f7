"""ResourceQuotas: what a namespace may use, charged when objects are created and when they grow.

The ledger is the quota's status: `status.hard` is what is enforced (nothing while a controller has not filled it in),
`status.used` is raised here with every admitted object, after every quota was found to have room: what is refused is
charged nowhere. Recounting and lowering is a controller's job; it also gives back what was charged for an object that
failed after all, be it for a quota that others used up in that very moment.
"""

import orjson

from karmada.api.quantity import Quantity
from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.admission.presence import Presence
from karmada.apiserver.admission.usage import Usage, is_finished, matches_scopes, missing_constraints, usage_of
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.storage.base import Mismatch
from karmada.apiserver.watchcache import Item, Kind, WatchCache

_QUOTAS: Kind = ("", "resourcequotas")
_TRIES = 10
_ZERO = Quantity.parse("0")


class ResourceQuotas:
    """The admission plugin of quotas; the last one, so that nothing is charged that others refuse."""

    operations = (Operation.CREATE, Operation.UPDATE)

    def __init__(self, store: WatchCache, quotas: Served) -> None:
        self._store = store
        self._quotas = quotas
        self._present = Presence(store, _QUOTAS)

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of objects where there are quotas, and pods that get other resources."""
        if request.subresource and (request.subresource, request.type.stored_as) != ("resize", ("", "pods")):
            return False
        return request.namespace in self._present

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Charge every quota that covers the object, or refuse."""
        obj = request.object
        if obj is None:
            return
        delta = usage_of(request.type, obj)
        if request.old is not None:
            before = usage_of(request.type, request.old)
            delta = {name: amount - before.get(name, _ZERO) for name, amount in delta.items()}
            delta = {name: amount for name, amount in delta.items() if amount.sign() > 0}
            if not delta:
                return
        pod = obj if request.type.stored_as == ("", "pods") else None
        quotas = self._store.list(_QUOTAS, request.namespace).items
        for item in quotas:
            self._check(request, orjson.loads(item.body), delta, pod)
        for item in quotas:
            await self._charge(request, item, delta, pod)

    async def _charge(self, request: AdmissionRequest, item: Item, delta: Usage, pod: JSONObject | None) -> None:
        for _ in range(_TRIES):
            quota: JSONObject = orjson.loads(item.body)
            used = self._check(request, quota, delta, pod)
            if used is None or request.dry_run:
                return
            quota.setdefault("status", {})["used"] = used
            try:
                await self._store.update(
                    _QUOTAS,
                    item.namespace,
                    item.name,
                    self._quotas.encode(quota),
                    self._quotas.index(quota),
                    item.revision,
                )
                return
            except Mismatch:
                current = self._store.get(_QUOTAS, item.namespace, item.name)
                if current is None:
                    return
                item = current
        raise refusal(request, f"quota {item.name} keeps changing; try again")

    def _check(
        self, request: AdmissionRequest, quota: JSONObject, delta: Usage, pod: JSONObject | None
    ) -> JSONObject | None:
        """What is used afterwards; None when the quota does not cover the object."""
        name, spec, status = quota["metadata"]["name"], quota.get("spec") or {}, quota.get("status") or {}
        if not matches_scopes(spec, pod):
            return None
        hard, used = status.get("hard") or {}, status.get("used") or {}
        covered = sorted(key for key in delta if key in hard)
        if pod is not None and request.operation is Operation.CREATE and not is_finished(pod):
            missing = missing_constraints(pod, hard)
            if missing:
                raise refusal(request, f"failed quota: {name}: must specify {'; '.join(missing)}")
        if not covered:
            return None
        unknown = [key for key in covered if key not in used]
        if unknown:
            raise refusal(request, f"status unknown for quota: {name}, resources: {','.join(unknown)}")
        after = {key: Quantity.parse(str(used.get(key, "0"))) + delta[key] for key in covered}
        exceeded = [key for key in covered if after[key] > Quantity.parse(str(hard[key]))]
        if exceeded:
            requested = ",".join(f"{key}={delta[key]}" for key in exceeded)
            had = ",".join(f"{key}={used.get(key, '0')}" for key in exceeded)
            bound = ",".join(f"{key}={hard[key]}" for key in exceeded)
            raise refusal(request, f"exceeded quota: {name}, requested: {requested}, used: {had}, limited: {bound}")
        return {**used, **{key: str(amount) for key, amount in after.items()}}

"""Cluster API detector: clusters that Cluster API has provisioned join by themselves, and leave when it deletes them.

Follows a management cluster. What it joined it marks, and only what it marked it takes out again: a member that
somebody else joined under the same name is left alone.
"""

from collections.abc import Awaitable, Callable

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.errors import NotFound
from karmada.machinery.http.kubeconfig import KubeconfigError, from_bytes
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.transport import GroupVersionResource, JSONObject, Transport
from karmada.membership import objects
from karmada.membership.join import describe, join
from karmada.membership.refusal import Refused
from karmada.membership.unjoin import unjoin

COMPONENT = "cluster-api-detector"
PROVISIONED = GroupVersionResource("cluster.x-k8s.io", "v1beta1", "clusters")
MARK = "cluster.karmada.io/provisioned-by"
Reach = Callable[[Target], Awaitable[Transport]]


async def _over_http(target: Target) -> Transport:
    return HttpTransport(target, agent=COMPONENT)


class ClusterApiDetector:
    """Joins clusters that Cluster API has provisioned, and unjoins them when it deletes them.

    `management` is where Cluster API runs, `informers` are its own.
    """

    def __init__(
        self,
        hub: Client,
        management: Client,
        informers: InformerFactory,
        *,
        clock: Clock = REAL,
        reach: Reach = _over_http,
    ) -> None:
        self._hub = hub
        self._clock = clock
        self._management = management
        self._reach = reach
        self._provisioned = informers.resource(PROVISIONED)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=3,
            needs=(self._provisioned,),
            deadline=180.0,
            clock=clock,
        )
        self.controller.watch(self._provisioned, _changed)

    async def reconcile(self, key: Key) -> Result:
        """Have one cluster joined, or gone."""
        item = self._provisioned.item(key)
        member = await self._member(key.name)
        leaving = item is None or bool(item.value["metadata"].get("deletionTimestamp"))
        try:
            if leaving and member is not None and _mark(member) == f"{key.namespace}/{key.name}":
                await unjoin(self._hub, key.name, wait=120.0, clock=self._clock)
            elif not leaving and member is None and _phase(item.value if item else {}) == "Provisioned":
                await self._join(key)
        except Refused as error:
            return Retry(str(error))
        return DONE

    async def _join(self, key: Key) -> None:
        target = await self._target(key)
        member = Client(await self._reach(target))
        try:
            marks = {MARK: f"{key.namespace}/{key.name}"}
            await join(member, self._hub, describe(key.name, target), marks=marks, clock=self._clock)
        finally:
            await member.close()

    async def _target(self, key: Key) -> Target:
        name = f"{key.name}-kubeconfig"
        try:
            secret = await self._management.resource(objects.SECRETS).get(name, key.namespace)
            return from_bytes(objects.decoded(secret).get("value", b"")).target()
        except NotFound:
            raise Refused(f"the secret {key.namespace}/{name} does not exist yet") from None
        except KubeconfigError as error:
            reason = str(error).partition("\n")[0]
            raise Refused(f"the secret {key.namespace}/{name} holds no usable kubeconfig: {reason}") from None

    async def _member(self, name: str) -> JSONObject | None:
        try:
            return await self._hub.resource(objects.CLUSTERS).get(name)
        except NotFound:
            return None


def _mark(cluster: JSONObject) -> str:
    return str((cluster["metadata"].get("annotations") or {}).get(MARK, ""))


def _phase(cluster: JSONObject) -> str:
    return str((cluster.get("status") or {}).get("phase", ""))


def _changed(change: Change[JSONObject]) -> list[Key]:
    if change.new is not None and change.old is not None:
        before, after = change.old.value, change.new.value
        same = _phase(before) == _phase(after)
        if same and before["metadata"].get("deletionTimestamp") == after["metadata"].get("deletionTimestamp"):
            return []
    return [change.key]

"""HTTPRoutes and ReferenceGrants of the control plane, followed while their kinds are installed.

Nobody waits for kinds that are not there, nor for ever for those that cannot be read: ingresses are served without
them.
"""

from collections.abc import Callable

import orjson

from karmada.gateway.httproutes import GROUP, HttpRoute, read
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.controller import Controller, RequeueAfter, Result
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject

HTTP_ROUTES = GroupVersionResource(GROUP, "v1", "httproutes")
GRANTS = GroupVersionResource(GROUP, "v1beta1", "referencegrants")
LOOK_SECONDS = 30.0
"""How soon kinds that were installed are noticed."""
LOADING_SECONDS = 10.0
"""How long routes are waited for that cannot be loaded."""
_LOOK = "kinds"


class GatewayApi:
    """The HTTPRoutes of the moment; `changed` hears of every change."""

    def __init__(
        self, client: Client, informers: InformerFactory, changed: Callable[[], None], gateway: str, clock: Clock
    ) -> None:
        """`gateway`: the name by which routes refer to this gateway."""
        self._client = client
        self._informers = informers
        self._changed = changed
        self.gateway = gateway
        self._clock = clock
        self._followed: dict[GroupVersionResource, Informer[JSONObject]] = {}
        self._since = 0.0
        self.known = False
        """Whether it is known which routes there are, or known that they cannot be read."""
        self.controller: Controller[str] = Controller("gateway-kinds", self.reconcile, workers=1, clock=clock)
        self.controller.enqueue(_LOOK)

    async def reconcile(self, _: str) -> Result:
        """Follow the kinds that are installed, and those only."""
        for kind in (HTTP_ROUTES, GRANTS):
            served = await self._is_served(kind)
            if served and kind not in self._followed:
                self._follow(kind)
            elif not served and kind in self._followed:
                await self._informers.release(self._followed.pop(kind))
                self._changed()
        loading = not all(informer.has_synced for informer in self._followed.values())
        if loading and self._clock.monotonic() - self._since < LOADING_SECONDS:
            return RequeueAfter(LOADING_SECONDS / 10)
        if not self.known:
            self.known = True
            self._changed()
        return RequeueAfter(LOOK_SECONDS)

    def routes(self) -> list[HttpRoute]:
        """The routes of this gateway; grants that are not known allow nothing."""
        grants = self._values(GRANTS)
        found = (read(tree, self.gateway, grants) for tree in self._values(HTTP_ROUTES))
        return [route for route in found if route is not None]

    def read(self, tree: JSONObject) -> HttpRoute | None:
        """A route as this gateway reads it; None when it is for others."""
        return read(tree, self.gateway, self._values(GRANTS))

    def get(self, namespace: str, name: str) -> JSONObject | None:
        """A route as it is in the control plane."""
        informer = self._followed.get(HTTP_ROUTES)
        return informer.get(name, namespace) if informer is not None and informer.has_synced else None

    def _values(self, kind: GroupVersionResource) -> list[JSONObject]:
        informer = self._followed.get(kind)
        return list(informer.values()) if informer is not None and informer.has_synced else []

    def _follow(self, kind: GroupVersionResource) -> None:
        informer = self._followed[kind] = self._informers.resource(kind)
        self._since = self._clock.monotonic()
        informer.add_handler(lambda _: self._changed())
        informer.add_load_handler(self._loaded)

    def _loaded(self) -> None:
        self.controller.enqueue(_LOOK)
        self._changed()

    async def _is_served(self, kind: GroupVersionResource) -> bool:
        try:
            document = orjson.loads(await self._client.transport.raw("GET", f"/apis/{kind.group}/{kind.version}"))
        except NotFound:
            return False
        return any(each.get("name") == kind.resource for each in document.get("resources") or ())

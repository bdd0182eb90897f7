"""Every namespace gets a ConfigMap with the server's CA, by which pods believe the server; it stays as it is."""

from collections.abc import Callable

import orjson

from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.watchcache import Kind, StoreEvent
from karmada.machinery.transport import EventType

NAME = "kube-root-ca.crt"
_NAMESPACES: Kind = ("", "namespaces")
_CONFIG_MAPS: Kind = ("", "configmaps")


class RootCertificates:
    """Keeps the ConfigMap with the server's CA in every namespace."""

    def __init__(self, context: Context, authority: Callable[[], bytes]) -> None:
        self._store = context.store
        self._authority = authority
        self._writer = Writer(context, "root-ca-cert-publisher")
        self._worker: Worker[str] = Worker("root-certificates", self._publish)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, _NAMESPACES, _CONFIG_MAPS)
        for item in self._store.list(_NAMESPACES).items:
            self._worker.add(item.name)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _NAMESPACES and event.type is EventType.ADDED:
            self._worker.add(event.item.name)
        elif kind == _CONFIG_MAPS and event.item.name == NAME and event.type is not EventType.ADDED:
            self._worker.add(event.item.namespace)

    async def _publish(self, namespace: str) -> None:
        around = self._store.get(_NAMESPACES, "", namespace)
        if around is None or around.ends:
            return
        data = {"ca.crt": self._authority().decode()}
        present = self._store.get(_CONFIG_MAPS, namespace, NAME)
        if present is None:
            await self._writer.create(_CONFIG_MAPS, namespace, {"metadata": {"name": NAME}, "data": data})
        elif orjson.loads(present.body).get("data") != data:
            await self._writer.change(_CONFIG_MAPS, namespace, NAME, lambda obj: obj.update(data=data))

"""APIServices: which server answers for a group version, and whether it is available.

Every group version the server serves itself has an APIService that is always available. One that names a Service is
another server's: requests go there (see `proxy`), and its condition says whether it answers.
"""

import asyncio
from typing import NamedTuple

import orjson

from karmada.apiserver.aggregation.discovery import group_of, resources_of
from karmada.apiserver.aggregation.priorities import priorities
from karmada.apiserver.aggregation.proxy import Backend, Proxy
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.outgoing import CallFailed
from karmada.apiserver.requests.model import AnyAnswer, Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.services import Unreachable
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.transport import EventType

KIND: Kind = ("apiregistration.k8s.io", "apiservices")
_SERVICES: Kind = ("", "services")
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
_AGAIN_SECONDS = 30.0
_LOCAL = ("True", "Local", "Local APIServices are always available")


class Remote(NamedTuple):
    """A group version served elsewhere."""

    name: str
    backend: Backend
    available: bool


class ApiServices:
    """Keeps APIServices and knows the remote ones."""

    def __init__(self, context: Context, proxy: Proxy) -> None:
        self._context = context
        self._store = context.store
        self._proxy = proxy
        self._writer = Writer(context, "apiserver", "kube-apiserver")
        self._worker: Worker[str] = Worker("api-services", self._process)
        self._remotes: dict[tuple[str, str], Remote] = {}
        self._resources: dict[tuple[str, str], list[JSONObject]] = {}
        """What the remote ones serve, as far as they were asked."""
        self._local: set[str] = set()

    def load(self) -> None:
        """Know the remote ones; before anything is served."""
        self._store.subscribe(self._changed, _SERVICES, KIND)
        self._context.catalog.subscribe(self._catalog_changed)
        for item in self._store.list(KIND).items:
            self._consider(item)

    async def write_local(self) -> None:
        """Write the APIServices of what is served here, all at once so that a durable store commits them together."""
        self._local = {f"{served.type.version}.{served.type.group}" for served in self._context.catalog}
        await asyncio.gather(*(self._process(name) for name in sorted(self._local)))

    def start(self) -> None:
        """Begin to follow the catalog and to check the remote ones."""
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def remote(self, group: str, version: str) -> Remote | None:
        """Who serves a group version elsewhere; any version when it is empty."""
        if version:
            return self._remotes.get((group, version))
        return next((remote for (other, _), remote in self._remotes.items() if other == group), None)

    def serves(self, group: str, version: str, resource: str, subresource: str) -> bool:
        """Whether a server elsewhere has said that it serves a resource."""
        for known in self._resources.get((group, version), ()):
            if known.get("resource") == resource:
                subresources = [sub.get("subresource") for sub in known.get("subresources") or ()]
                return not subresource or subresource in subresources
        return False

    async def forward(self, remote: Remote, request: HttpRequest, user: UserInfo) -> AnyAnswer:
        """Pass a request on to the server behind a group version."""
        return await self._proxy.forward(remote.backend, request, user)

    def groups(self) -> list[JSONObject]:
        """The remote groups as aggregated discovery lists them."""
        found: dict[str, dict[str, list[JSONObject] | None]] = {}
        for group, version in sorted(self._remotes):
            found.setdefault(group, {})[version] = self._resources.get((group, version))
        return [group_of(group, versions) for group, versions in found.items()]

    def _catalog_changed(self) -> None:
        wanted = {f"{served.type.version}.{served.type.group}" for served in self._context.catalog}
        for name in sorted(wanted | self._local) if wanted != self._local else ():
            self._worker.add(name)
        self._local = wanted

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _SERVICES:
            for remote in self._remotes.values():
                self._worker.add(remote.name)
        if kind != KIND:
            return
        if event.type is EventType.DELETED:
            self._remotes = {key: remote for key, remote in self._remotes.items() if remote.name != event.item.name}
            self._context.catalog.touch()
            self._worker.add(event.item.name)
        else:
            self._consider(event.item)

    def _consider(self, item: Item) -> None:
        spec: JSONObject = orjson.loads(item.body)
        service = (spec.get("spec") or {}).get("service")
        if service is None:
            return
        body = spec["spec"]
        key = (body["group"], body["version"])
        conditions = (spec.get("status") or {}).get("conditions") or ()
        available = any(c["type"] == "Available" and c["status"] == "True" for c in conditions)
        known = self._remotes.get(key)
        remote = Remote(item.name, Backend.of(body), available)
        if known != remote:
            self._remotes[key] = remote
            self._context.catalog.touch()
            self._worker.add(item.name)

    async def _process(self, name: str) -> None:
        item = self._store.get(KIND, "", name)
        version, _, group = name.partition(".")
        if item is None:
            if name in self._local:
                await self._create(name, group, version)
                await self._report(name, *_LOCAL)
            return
        obj: JSONObject = orjson.loads(item.body)
        managed = (obj["metadata"].get("labels") or {}).get(_MANAGED)
        if not (obj.get("spec") or {}).get("service"):
            if managed and name not in self._local:
                await self._writer.delete(KIND, "", name, item.index.uid)
            elif _reported(obj) != _LOCAL:
                await self._report(name, *_LOCAL)
            return
        remote = self._remotes.get((group, version))
        if remote is not None:
            await self._report(name, *await self._check(remote, group, version))
            self._worker.add_later(name, _AGAIN_SECONDS)

    async def _create(self, name: str, group: str, version: str) -> None:
        custom = any(served.type.custom for served in self._context.catalog if served.type.group == group)
        group_priority, version_priority = priorities(group, version)
        spec: JSONObject = {
            "version": version,
            "groupPriorityMinimum": group_priority,
            "versionPriority": version_priority,
        }
        if group:
            spec["group"] = group
        labels = {_MANAGED: "true" if custom else "onstart"}
        await self._writer.create(KIND, "", {"metadata": {"name": name, "labels": labels}, "spec": spec})

    async def _check(self, remote: Remote, group: str, version: str) -> tuple[str, str, str]:
        try:
            answer = await self._proxy.probe(remote.backend, f"/apis/{group}/{version}")
        except Unreachable as error:
            return "False", error.reason, str(error)
        except CallFailed as error:
            url = f"https://{remote.backend.host}:{remote.backend.port}/apis/{group}/{version}"
            message = f'failing or missing response from {url}: Get "{url}": {error}'
            return "False", "FailedDiscoveryCheck", message
        if not 200 <= answer.status < 300 and answer.status not in (401, 403):
            return "False", "FailedDiscoveryCheck", f"failing or missing response: bad status {answer.status}"
        self._learn((group, version), answer.body)
        return "True", "Passed", "all checks passed"

    def _learn(self, key: tuple[str, str], body: bytes) -> None:
        try:
            resources = resources_of(orjson.loads(body))
        except (orjson.JSONDecodeError, AttributeError):
            return
        if self._resources.get(key) != resources:
            self._resources[key] = resources
            self._context.catalog.touch()

    async def _report(self, name: str, status: str, reason: str, message: str) -> None:
        now = rfc3339(self._context.now())

        def edit(obj: JSONObject) -> None:
            conditions = [c for c in (obj.get("status") or {}).get("conditions") or () if c["type"] != "Available"]
            old = next((c for c in (obj.get("status") or {}).get("conditions") or () if c["type"] == "Available"), None)
            time = old["lastTransitionTime"] if old is not None and old["status"] == status else now
            condition = {
                "type": "Available",
                "status": status,
                "lastTransitionTime": time,
                "reason": reason,
                "message": message,
            }
            obj["status"] = {**(obj.get("status") or {}), "conditions": [*conditions, condition]}

        await self._writer.change(KIND, "", name, edit, "status")


def _reported(obj: JSONObject) -> tuple[str, str, str] | None:
    """What an APIService says about its availability."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Available":
            return condition["status"], condition.get("reason", ""), condition.get("message", "")
    return None

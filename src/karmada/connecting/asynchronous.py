"""A control plane (or a member of it) for programs with an event loop.

Kinds are classes of `karmada.api` (objects are then frozen structs) or words as kubectl takes them (`Deployment`,
`deploy`, `deployments.apps`; objects are then trees). Refusals of the server are the exceptions of
`karmada.machinery.errors`.
"""

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

from karmada.api.base import Struct
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.cli.access import PROXY
from karmada.cli.failures import CommandError
from karmada.cli.files import objects_of
from karmada.cli.kinds import Kinds
from karmada.explain.members import Members
from karmada.machinery.client import Client, type_of
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import Gone, NotFound
from karmada.machinery.http.kubeconfig import find_target
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import ObjectEvent, Resource, Scope

JSONObject = dict[str, Any]
K = TypeVar("K", bound=Struct)
Source = str | Path | JSONObject
"""Manifests: a file, the text of one, or an object."""
MANAGER = "karmada-python"
PATIENCE = 8.0
"""Seconds that a member may take for one question of `why`."""


class WaitTimeout(TimeoutError):
    """What was waited for did not happen; the message has the object's `why` where it is propagated."""


class AsyncKarmada:
    """One API server, used as `async with`: objects by kind and name, `apply`, `wait`, `why`, and its members."""

    def __init__(self, target: Target, *, name: str = "") -> None:
        """`name` is that of the member, if it is one."""
        self._target = target
        self._name = name
        self.client = Client(HttpTransport(target, agent=MANAGER), field_manager=MANAGER)
        """The client below, for what is not here."""
        self._kinds = Kinds(self.client.transport)
        self._members: dict[str, AsyncKarmada] = {}

    @classmethod
    def to(cls, kubeconfig: str | Path = "", context: str = "") -> "AsyncKarmada":
        """The server of a kubeconfig: the one given, KUBECONFIG, or that of the home directory."""
        return cls(find_target(str(kubeconfig) if kubeconfig else "", context))

    async def __aenter__(self) -> "AsyncKarmada":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        for member in self._members.values():
            await member.close()
        await self.client.close()

    def member(self, name: str) -> "AsyncKarmada":
        """A member cluster, reached through the control plane as whoever we are there."""
        if name not in self._members:
            target = self._target._replace(server=self._target.server + PROXY.format(name))
            self._members[name] = AsyncKarmada(target, name=name)
        return self._members[name]

    async def members(self) -> builtins.list[str]:
        """The names of the member clusters."""
        return sorted(cluster.metadata.name for cluster in (await self.client.of(Cluster).list()).items)

    @overload
    async def get(self, kind: type[K], name: str, namespace: str = "") -> K: ...
    @overload
    async def get(self, kind: str, name: str, namespace: str = "") -> JSONObject: ...
    async def get(self, kind: type[Any] | str, name: str, namespace: str = "") -> Any:
        """One object; raises `NotFound`. The namespace is that of the context where none is given."""
        resource, place = await self._at(kind, namespace)
        return await resource.get(name, place)

    @overload
    async def list(
        self, kind: type[K], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> builtins.list[K]: ...
    @overload
    async def list(
        self, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> builtins.list[JSONObject]: ...
    async def list(self, kind: type[Any] | str, namespace: str = "", *, labels: str = "", fields: str = "") -> Any:
        """The objects of a namespace, or (without one) of all of them."""
        resource, _ = await self._at(kind, namespace)
        return (await resource.list(Scope(namespace, labels, fields))).items

    async def apply(self, *sources: Source, namespace: str = "", force: bool = True) -> builtins.list[JSONObject]:
        """Server-side apply of every object of files, texts or trees; the objects as they are now.

        Raises ValueError where a source holds something else, before anything of it is applied.
        """
        done = []
        for source in sources:
            for item in _objects(source):
                served = await self.client.mapper.of_kind(item["apiVersion"], item["kind"])
                about = dict(item["metadata"])
                if served.namespaced:
                    about.setdefault("namespace", namespace or self._target.namespace)
                wanted = {**item, "metadata": about}
                done.append(await self.client.resource(served.type).apply(wanted, field_manager=MANAGER, force=force))
        return done

    async def delete(self, kind: type[Any] | str, name: str, namespace: str = "") -> None:
        """Ask for the deletion of an object; raises `NotFound`."""
        resource, place = await self._at(kind, namespace)
        await resource.delete(name, place)

    @overload
    def watch(self, kind: type[K], namespace: str = "", *, name: str = "") -> AsyncIterator[ObjectEvent[K]]: ...
    @overload
    def watch(self, kind: str, namespace: str = "", *, name: str = "") -> AsyncIterator[ObjectEvent[JSONObject]]: ...
    async def watch(self, kind: type[Any] | str, namespace: str = "", *, name: str = "") -> AsyncIterator[Any]:
        """What is there (as ADDED) and every change from then on; begins anew when the server forgets where it was."""
        from karmada.machinery.transport import EventType

        resource, _ = await self._at(kind, namespace)
        scope = Scope(namespace, fields=f"metadata.name={name}" if name else "")
        while True:
            listing = await resource.list(scope)
            for item in listing.items:
                yield ObjectEvent(EventType.ADDED, item)
            try:
                async with resource.watch(scope, listing.resource_version) as stream:
                    async for batch in stream:
                        for event in batch:
                            yield event
            except Gone:
                continue

    @overload
    async def wait(
        self, kind: type[K], name: str, until: Callable[[K], object], namespace: str = "", *, timeout: float = 60.0
    ) -> K: ...
    @overload
    async def wait(
        self, kind: str, name: str, until: Callable[[JSONObject], object], namespace: str = "", *, timeout: float = 60.0
    ) -> JSONObject: ...
    async def wait(
        self,
        kind: type[Any] | str,
        name: str,
        until: Callable[[Any], object],
        namespace: str = "",
        *,
        timeout: float = 60.0,
    ) -> Any:
        """The object as soon as `until` is true of it; raises `WaitTimeout`, which says why it is not."""
        _, place = await self._at(kind, namespace)
        try:
            async with asyncio.timeout(timeout):
                async for event in self.watch(kind, place, name=name):
                    with suppress(KeyError, IndexError):  # a field that is not there yet
                        if event.type.value != "DELETED" and until(event.object):
                            return event.object
        except TimeoutError:
            message = f"{_spelled(kind)} {name}: not so after {timeout:g} s"
            raise WaitTimeout(f"{message}\n\n{await self._why_if_asked(kind, name, place)}".rstrip()) from None
        raise AssertionError("a watch does not end")

    async def why(self, kind: type[Any] | str, name: str, namespace: str = "", *, cluster: str = "") -> str:
        """Why an object is (not) where it should be, as `karmadactl why` prints it."""
        from karmada.cli import answers

        served = await self._served(kind)
        return await answers.why(self.client, self._explained(), served, self._place(served, namespace), name, cluster)

    async def tree(self, kind: type[Any] | str, name: str, namespace: str = "") -> str:
        """Everything that belongs to an object, as `karmadactl tree` shows it."""
        from karmada.cli import answers

        served = await self._served(kind)
        return await answers.tree_of(self.client, self._explained(), served, self._place(served, namespace), name)

    async def _why_if_asked(self, kind: type[Any] | str, name: str, namespace: str) -> str:
        if self._name:
            return ""
        return await self.why(kind, name, namespace)

    def _explained(self) -> Members:
        return Members(lambda name: self.member(name).client, PATIENCE)

    async def _served(self, kind: type[Any] | str) -> ApiResource:
        return await (self._kinds.find(kind.lower()) if isinstance(kind, str) else self._of_type(kind))

    async def _of_type(self, kind: type[Any]) -> ApiResource:
        return await self.client.mapper.of_type(type_of(kind))

    async def _at(self, kind: type[Any] | str, namespace: str) -> tuple[Resource[Any], str]:
        """The collection of a kind, and the namespace that an object without one is in."""
        served = await self._served(kind)
        resource: Resource[Any] = self.client.resource(served.type) if isinstance(kind, str) else self.client.of(kind)
        return resource, self._place(served, namespace)

    def _place(self, served: ApiResource, namespace: str) -> str:
        return (namespace or self._target.namespace) if served.namespaced else ""


def _spelled(kind: type[Any] | str) -> str:
    return kind if isinstance(kind, str) else kind.__name__


def _objects(source: Source) -> builtins.list[JSONObject]:
    try:
        found = [source] if isinstance(source, dict) else [one.item for one in objects_of(source)]
    except CommandError as error:
        raise ValueError(str(error)) from None
    for item in found:
        missing = [field for field in ("apiVersion", "kind", "metadata") if not item.get(field)]
        if missing:
            raise ValueError(f"an object lacks {', '.join(missing)}")
    return found


__all__ = ["AsyncKarmada", "NotFound", "Source", "WaitTimeout"]

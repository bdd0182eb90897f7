"""The same client for programs without an event loop: every call waits for its answer.

It has a loop of its own, so it cannot be used inside one: there, use `karmada.connect_async()`.
"""

import asyncio
import builtins
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

from karmada.api.base import Struct
from karmada.connecting.asynchronous import AsyncKarmada, JSONObject, Source
from karmada.machinery.resource import ObjectEvent

K = TypeVar("K", bound=Struct)
T = TypeVar("T")


class Karmada:
    """One API server, used as `with`; kinds are as `AsyncKarmada` takes them."""

    def __init__(self, inner: AsyncKarmada, runner: asyncio.Runner | None = None) -> None:
        self._inner = inner
        self._runner = runner or asyncio.Runner()
        self._owner = runner is None

    @classmethod
    def to(cls, kubeconfig: str | Path = "", context: str = "") -> "Karmada":
        """The server of a kubeconfig: the one given, KUBECONFIG, or that of the home directory."""
        return cls(AsyncKarmada.to(kubeconfig, context))

    def __enter__(self) -> "Karmada":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._owner:
            self._run(self._inner.close())
            self._runner.close()

    def member(self, name: str) -> "Karmada":
        """A member cluster, reached through the control plane; it is closed with this client."""
        return Karmada(self._inner.member(name), self._runner)

    def members(self) -> builtins.list[str]:
        """The names of the member clusters."""
        return self._run(self._inner.members())

    @overload
    def get(self, kind: type[K], name: str, namespace: str = "") -> K: ...
    @overload
    def get(self, kind: str, name: str, namespace: str = "") -> JSONObject: ...
    def get(self, kind: type[Any] | str, name: str, namespace: str = "") -> Any:
        """One object; raises `NotFound`. The namespace is that of the context where none is given."""
        return self._run(self._inner.get(kind, name, namespace))

    @overload
    def list(self, kind: type[K], namespace: str = "", *, labels: str = "", fields: str = "") -> builtins.list[K]: ...
    @overload
    def list(
        self, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> builtins.list[JSONObject]: ...
    def list(self, kind: type[Any] | str, namespace: str = "", *, labels: str = "", fields: str = "") -> Any:
        """The objects of a namespace, or (without one) of all of them."""
        return self._run(self._inner.list(kind, namespace, labels=labels, fields=fields))

    def apply(self, *sources: Source, namespace: str = "", force: bool = True) -> builtins.list[JSONObject]:
        """Server-side apply of every object of files, texts or trees; the objects as they are now."""
        return self._run(self._inner.apply(*sources, namespace=namespace, force=force))

    def delete(self, kind: type[Any] | str, name: str, namespace: str = "") -> None:
        """Ask for the deletion of an object; raises `NotFound`."""
        self._run(self._inner.delete(kind, name, namespace))

    @overload
    def watch(self, kind: type[K], namespace: str = "", *, name: str = "") -> Iterator[ObjectEvent[K]]: ...
    @overload
    def watch(self, kind: str, namespace: str = "", *, name: str = "") -> Iterator[ObjectEvent[JSONObject]]: ...
    def watch(self, kind: type[Any] | str, namespace: str = "", *, name: str = "") -> Iterator[Any]:
        """What is there (as ADDED) and every change from then on."""
        stream: Any = self._inner.watch(kind, namespace, name=name)
        try:
            while True:
                yield self._run(_next(stream))
        finally:
            self._run(stream.aclose())

    @overload
    def wait(
        self, kind: type[K], name: str, until: Callable[[K], object], namespace: str = "", *, timeout: float = 60.0
    ) -> K: ...
    @overload
    def wait(
        self, kind: str, name: str, until: Callable[[JSONObject], object], namespace: str = "", *, timeout: float = 60.0
    ) -> JSONObject: ...
    def wait(
        self,
        kind: type[Any] | str,
        name: str,
        until: Callable[[Any], object],
        namespace: str = "",
        *,
        timeout: float = 60.0,
    ) -> Any:
        """The object as soon as `until` is true of it; raises `WaitTimeout`, which says why it is not."""
        return self._run(self._inner.wait(kind, name, until, namespace, timeout=timeout))

    def why(self, kind: type[Any] | str, name: str, namespace: str = "", *, cluster: str = "") -> str:
        """Why an object is (not) where it should be, as `karmadactl why` prints it."""
        return self._run(self._inner.why(kind, name, namespace, cluster=cluster))

    def tree(self, kind: type[Any] | str, name: str, namespace: str = "") -> str:
        """Everything that belongs to an object, as `karmadactl tree` shows it."""
        return self._run(self._inner.tree(kind, name, namespace))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


async def _next(stream: Any) -> Any:
    return await anext(stream)

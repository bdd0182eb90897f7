"""Until the registries are read nobody knows whose an object is: requests must not reach the wrong server."""

from typing import Any, cast

import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, Call
from karmada.machinery.clock import REAL
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.supervisor import Supervisor
from karmada.search.caches import Caches
from karmada.search.names import PROXY, PROXY_PATH
from karmada.search.proxy import GlobalProxy

USER = UserInfo("ann")


class World:
    """A proxy whose caches know no member, and what it passed on to the control plane."""

    def __init__(self) -> None:
        unused = cast(Any, None)
        self.caches = Caches(unused, unused, Supervisor(), REAL)
        self.passed: list[str] = []
        self.proxy = GlobalProxy(self.caches, unused, unused, self._control_plane, unused)

    async def ask(self, method: str, path: str) -> None:
        request = HttpRequest(method, PROXY_PATH + path, "", {}, b"", ("127.0.0.1", 1), None)
        call = Call("get", cast(Any, None), USER, name="karmada", subresource=PROXY, http=request)
        await self.proxy(cast(Any, None), call)

    async def _control_plane(self, request: HttpRequest, path: str, user: UserInfo) -> Answer:
        self.passed.append(f"{request.method} {path}")
        return Answer(200, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_requests_on_objects_wait_for_the_registries(method: str) -> None:
    world = World()
    with pytest.raises(Failure) as refused:
        await world.ask(method, "/api/v1/namespaces/default/pods/web")
    assert refused.value.code == 503
    assert refused.value.headers["Retry-After"] == "1"
    assert world.passed == []
    world.caches.register(())
    await world.ask(method, "/api/v1/namespaces/default/pods/web")
    assert world.passed == [f"{method} /api/v1/namespaces/default/pods/web"]


async def test_discovery_is_answered_at_once() -> None:
    world = World()
    await world.ask("GET", "/api")
    assert world.passed == ["GET /api"]

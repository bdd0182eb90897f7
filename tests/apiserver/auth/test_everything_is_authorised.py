"""There is no way around authorisation: it comes before routing, for every path and method."""

import itertools

import orjson
import pytest

from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.requests.access import Access, Guarded, Undeclared
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse

NOBODY = UserInfo("nobody")
PAGES = ["/", "/healthz", "/livez/ping", "/readyz", "/version", "/metrics", "/logs", "/nosuch", "/api", "/apis"]
PAGES += ["/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/openid/v1/jwks"]
PAGES += ["/.well-known/openid-configuration", "/apis/nosuch.dev/v1/things", "/debug/pprof"]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@pytest.fixture
async def server():
    async with ApiServer(ApiServerOptions(controllers=False)) as started:
        yield started


def resource_paths(server: ApiServer) -> list[str]:
    paths = []
    for type_ in server.catalog.types():
        base = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
        place = f"{base}/namespaces/default/{type_.plural}" if type_.namespaced else f"{base}/{type_.plural}"
        paths += [place, f"{place}/x", *[f"{place}/x/{sub.name}" for sub in type_.subresources]]
    return paths


async def test_a_user_without_roles_reaches_nothing(server):
    dispatcher = HttpDispatcher(server.dispatcher, lambda request: NOBODY)
    paths = PAGES + resource_paths(server)
    assert len(paths) > 150
    for method, path in itertools.product(METHODS, paths):
        answer = await dispatcher(HttpRequest(method, path, "", {}, b"{}", ("127.0.0.1", 1), None))
        assert isinstance(answer, HttpResponse)
        assert answer.status == 403, f"{method} {path} answered {answer.status}"
        assert orjson.loads(answer.body)["reason"] == "Forbidden"


async def answer(context, call):
    raise AssertionError("never asked")


@pytest.mark.parametrize(
    ("route", "message"),
    [
        pytest.param(answer, "does not declare its authorisation", id="nothing declared"),
        pytest.param(Guarded(Access.PATH, answer), "the method on the path, which is not asked", id="not enforced"),
    ],
)
def test_a_server_with_a_route_that_is_not_authorised_is_not_made(route, message):
    api = LocalApi([], {("demo.dev", "things", "peek"): route})
    with pytest.raises(Undeclared, match=f"things.*{message}"):
        ApiServer(ApiServerOptions(apis=[api]))


async def test_profiles_are_for_administrators_only(server):
    async def ask(user: UserInfo, path: str, query: str = "") -> tuple[int, bytes]:
        dispatcher = HttpDispatcher(server.dispatcher, lambda request: user)
        found = await dispatcher(HttpRequest("GET", path, query, {}, b"", ("127.0.0.1", 1), None))
        assert isinstance(found, HttpResponse)
        return found.status, found.body

    monitor, administrator = UserInfo("m", ("system:monitoring",)), UserInfo("a", ("system:masters",))
    status, body = await ask(administrator, "/debug/profile", "seconds=0.02")
    assert status == 200
    assert b"to_thread" in body or b"run_forever" in body
    assert (await ask(administrator, "/debug/tasks"))[0] == 200
    assert (await ask(administrator, "/debug/pprof"))[0] == 404
    for path in ("/debug/profile", "/debug/tasks"):
        assert (await ask(monitor, path))[0] == 403
    assert (await ask(monitor, "/metrics"))[0] == 200

"""karmada-dashboard beside an API server: users' tokens, and nobody's kubeconfig."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.dashboard.world import API, ROOT, WORKLOAD, Browser, Dashboards, deployment, policy
from tests.membership.world import eventually

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.dashboard.main import Site
from karmada.dashboard.remote import RemoteUpstream
from karmada.dashboard.server import Dashboard
from karmada.machinery.clock import REAL
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.tls import server_context


class Beside:
    """A dashboard of its own beside a control plane."""

    def __init__(self, inner: Dashboards, dashboard: Dashboard, endpoint: str, authority: bytes) -> None:
        self.inner = inner
        self.dashboard = dashboard
        self._endpoint = endpoint
        self._authority = authority

    def browser(self, token: str = "") -> Browser:
        return Browser(self._endpoint, self._authority, token=token)


@pytest.fixture
async def beside(federation: Dashboards) -> AsyncIterator[Beside]:
    server = federation.world.plane.server
    certificate, key = server.identity.authority.issue_client("system:admin", ["system:masters"])
    # The kubeconfig is the administrator's: nothing of that may show.
    identity = Identity(Material(certificate), Material(key))
    target = Target(federation.world.endpoint, Material(federation.authority), identity=identity)
    dashboard = Dashboard(RemoteUpstream(target, REAL))
    site = Site(dashboard)
    authority = Authority.create("dashboard-ca")
    tls = server_context(*authority.issue_server("dashboard", server_names(["127.0.0.1"])))
    http = HttpServer(site, admit=site.admit, tls=tls)
    port = await http.listen("127.0.0.1", 0)
    yield Beside(federation, dashboard, f"https://127.0.0.1:{port}", authority.certificate_pem)
    await dashboard.close()
    await http.stop()


async def test_users_see_what_their_tokens_let_them_and_the_kubeconfigs_user_is_not_used(beside: Beside) -> None:
    browser = beside.browser()
    assert (await browser.get("/")).headers["location"] == f"{ROOT}/"
    assert (await browser.get("/healthz")).status == 200
    assert (await browser.get(f"{API}/clusters")).status == 401
    assert (await browser.login("not-a-token")).status == 401
    assert (await browser.login(await beside.inner.token("weak"))).status == 200
    assert (await browser.get(f"{API}/clusters")).status == 403
    admin = beside.browser()
    assert (await admin.login(await beside.inner.token("strong", role="cluster-admin"))).status == 200
    assert [row["name"] for row in await admin.api("clusters")] == ["member1", "member2"]
    await beside.inner.apply(policy("nginx", "member1"), deployment())

    async def arrived() -> bool:
        return (await admin.api("workloads"))["items"][0]["status"] == "Healthy"

    await eventually(arrived)
    found = await admin.api(f"workload?{WORKLOAD}")
    # In the member the token's owner has no rights: the graph says so instead of showing what others may see.
    assert any(node["type"] == "object" and "cannot" in node["sentence"] for node in found["graph"]["nodes"])
    log = await admin.get(f"{API}/pods/member1/default/any/log")
    assert log.status == 403
    bearer = beside.browser(await beside.inner.token("program", role="cluster-admin"))
    assert (await bearer.get(f"{API}/session")).json["user"] == "system:serviceaccount:default:program"


async def test_the_stream_is_fed_by_watches_over_https(beside: Beside) -> None:
    admin = beside.browser()
    await admin.login(await beside.inner.token("strong", role="cluster-admin"))
    events = await admin.stream("workloads")
    assert (await events.next())["snapshot"]
    await beside.inner.apply(policy("nginx", "member1"), deployment())
    async with asyncio.timeout(20):
        while not (await events.next())["rows"]:
            pass
    await events.close()

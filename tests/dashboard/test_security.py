"""The classes of holes that dashboards have had, one test each."""

import asyncio
from typing import Any

import pytest
from tests.dashboard.world import (
    ACCOUNTS,
    API,
    ROOT,
    WIDE,
    WORKLOAD,
    Browser,
    Dashboards,
    Reply,
    deployment,
    policy,
)
from tests.membership.world import eventually, user_transport

from karmada.dashboard.route_table import table
from karmada.dashboard.routes import Demand, Route
from karmada.dashboard.static import Static
from karmada.machinery.errors import ApiError
from karmada.machinery.httpserver.model import HttpRequest, StreamResponse
from karmada.machinery.transport import GroupVersionResource, JSONObject

SECRETS = GroupVersionResource("", "v1", "secrets")
PUBLIC = {("GET", f"{ROOT}/login"), ("POST", f"{ROOT}/login"), ("GET", f"{ROOT}/static/{{rest}}")}
"""All that is answered without identity: how somebody signs in, and files that hold no data."""


def filled(route: Route) -> str:
    return route.path.replace("{rest}", "x").replace("{", "").replace("}", "")


async def test_no_route_answers_without_identity(dashboards: Dashboards) -> None:
    """CVE-2025-62714: routes of the reference's dashboard without authentication."""
    assert {(one.method, one.path) for one in table() if one.demand is Demand.NOTHING} == PUBLIC
    nobody = dashboards.browser()
    same_site = {"Origin": f"https://{nobody.host}", "Sec-Fetch-Site": "same-origin", "X-Karmada-CSRF": "x"}
    disguise = {"Impersonate-User": "system:admin", "X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}
    for route in dashboards.dashboard.routes.table:
        if route.demand is Demand.NOTHING:
            continue
        for headers in (
            {},
            same_site,
            same_site | disguise,
            {"Cookie": "karmada-session=x"},
            {"Authorization": "Bearer no"},
        ):
            reply = await nobody.ask(route.method, filled(route), {} if route.method == "POST" else None, headers)
            if route.demand is Demand.PAGE:
                assert (reply.status, reply.headers["location"], reply.body) == (303, f"{ROOT}/login", b""), route
            else:
                assert reply.status == 401, route
                assert reply.json["kind"] == "Status"


async def test_unknown_paths_and_methods_disclose_nothing(dashboards: Dashboards) -> None:
    nobody = dashboards.browser()
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
        for path in (f"{API}/nothing", f"{API}/session/x", f"{API}/..", f"{API}/%2e%2e/session"):
            assert (await nobody.ask(method, path)).status == 401, (method, path)


async def test_anonymous_users_are_nobody_whatever_they_may_do(dashboards: Dashboards) -> None:
    """Rights that an installation gives to anonymous users are not for browsers."""
    await dashboards.hub.resource(WIDE).create(
        {
            "metadata": {"name": "open"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:unauthenticated"}],
        }
    )
    assert (await dashboards.browser().get(f"{API}/clusters")).status == 401


async def test_nonsense_is_refused_and_not_logged_as_a_defect(dashboards: Dashboards, caplog: Any) -> None:
    nobody, browser = dashboards.browser(), await dashboards.admin()
    crowd = "&".join(f"a{number}=" for number in range(51))
    assert (await nobody.get(f"{ROOT}/login?{crowd}")).status == 400
    assert (await nobody.ask("POST", f"{ROOT}/login", {"token": "x"}, {"Origin": "https://["})).status == 403
    log = f"{API}/pods/member1/default/nginx/log"
    assert (await browser.get(f"{log}?tail={'9' * 5000}")).status == 400
    assert not [record for record in caplog.records if record.exc_info]


async def test_every_answer_has_the_headers_that_protect_a_browser(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    paths = (f"{ROOT}/login", f"{API}/session", f"{API}/nothing", f"{ROOT}/", f"{ROOT}/static/none.js")
    for path in paths:
        for reply in (await browser.get(path), await dashboards.browser().get(path)):
            policy_ = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy_
            assert "unsafe" not in policy_
            assert "frame-ancestors 'none'" in policy_
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["referrer-policy"] == "no-referrer"
    assert (await browser.get(f"{API}/session")).headers["cache-control"] == "no-store"


async def test_writes_of_other_sites_are_refused(dashboards: Dashboards) -> None:
    """CSRF: a page elsewhere makes the browser send its cookie along."""
    browser = await dashboards.admin()
    manifest = {"manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
    good = {"Origin": f"https://{browser.host}", "X-Karmada-CSRF": browser.csrf}
    for change in (
        {"X-Karmada-CSRF": ""},
        {"X-Karmada-CSRF": "x" * 43},
        {"Origin": "https://evil.example.com"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        for route in table():
            if route.demand in (Demand.ASK, Demand.WRITE):
                reply = await browser.ask(route.method, filled(route), manifest, good | change)
                assert reply.status == 403, route
    other = await dashboards.admin()
    stolen = await browser.ask("POST", f"{API}/apply", manifest, good | {"X-Karmada-CSRF": other.csrf})
    assert stolen.status == 403
    form = good | {"Content-Type": "text/plain"}
    assert (await browser.ask("POST", f"{API}/apply", manifest, form)).status == 400
    assert (await browser.ask("POST", f"{API}/apply", manifest, good)).status == 200


async def test_another_site_cannot_sign_a_browser_in_or_out(dashboards: Dashboards) -> None:
    """Login CSRF: the victim works in the attacker's session."""
    browser = dashboards.browser()
    made = await dashboards.link()
    crossed = await browser.get(made["path"], **{"Sec-Fetch-Site": "cross-site"})
    assert crossed.status == 403
    assert "set-cookie" not in crossed.headers
    posted = await browser.post(f"{ROOT}/login", {"token": made["code"]}, Origin="https://evil.example.com")
    assert posted.status == 403
    signed = await dashboards.admin()
    assert (await signed.ask("POST", f"{ROOT}/logout", {})).status == 403
    assert (await signed.post(f"{ROOT}/logout")).status == 200
    assert (await signed.get(f"{API}/session")).status == 401


async def test_a_one_time_link_counts_once_and_leads_nowhere_else(dashboards: Dashboards) -> None:
    made = await dashboards.link()
    browser = dashboards.browser()
    first = await browser.get(f"{made['path']}&next=https://evil.example.com&redirect=//evil.example.com")
    assert (first.status, first.headers["location"]) == (303, f"{ROOT}/")
    browser.cookie = first.headers["set-cookie"].partition(";")[0].partition("=")[2]
    assert (await browser.api("session"))["user"] == "system:admin"
    second = await dashboards.browser().get(made["path"])
    assert second.status == 401
    assert "set-cookie" not in second.headers


async def test_looking_at_a_link_does_not_use_it_up(dashboards: Dashboards) -> None:
    """Previews of links ask for the head only."""
    made = await dashboards.link()
    assert (await dashboards.browser().ask("HEAD", made["path"])).status in (401, 405)
    assert (await dashboards.browser().get(made["path"])).status == 303


async def test_signing_in_again_ends_the_session_before(dashboards: Dashboards) -> None:
    """Session fixation: a session that somebody planted does not become that of the next user."""
    browser = await dashboards.admin()
    planted = browser.cookie
    await browser.login((await dashboards.link("visitor", "visitors"))["code"])
    assert browser.cookie != planted
    assert len(dashboards.dashboard.sessions) == 1


async def test_a_session_cannot_make_links(dashboards: Dashboards) -> None:
    """A stolen session must not outlive itself."""
    browser = await dashboards.admin()
    assert (await browser.post(f"{API}/link")).status == 403
    token = await dashboards.token("robot")
    crossed = {"Origin": "https://evil.example.com"}
    assert (await dashboards.browser(token).ask("POST", f"{API}/link", {}, crossed)).status == 403
    assert (await dashboards.browser(token).ask("POST", f"{API}/link", {})).status == 200


async def test_codes_cannot_be_guessed_for_long(dashboards: Dashboards) -> None:
    browser = dashboards.browser()
    replies = [await browser.login(f"once-{number:043}") for number in range(12)]
    assert [reply.status for reply in replies] == [401] * 10 + [429] * 2
    assert int(replies[-1].headers["retry-after"]) > 0
    good = (await dashboards.link())["code"]
    assert (await browser.login(good)).status == 429


async def test_a_name_that_was_rebound_to_this_address_is_not_answered(dashboards: Dashboards) -> None:
    """DNS rebinding: the attacker's page becomes same-origin."""
    browser = await dashboards.admin()
    port = browser.host.rpartition(":")[2]
    headers = {"Host": f"evil.example.com:{port}", "Origin": f"https://evil.example.com:{port}"}
    for path in (f"{API}/session", f"{ROOT}/login", f"{ROOT}/"):
        reply = await browser.get(path, **headers)
        assert reply.status == 421
    assert (await browser.get(f"{API}/session", Host=f"localhost:{port}")).status == 200


async def test_files_outside_the_bundle_are_not_served(dashboards: Dashboards) -> None:
    """Path traversal (CVE-2022-24348 and its like)."""
    up = ("../server.py", "..%2fserver.py", "%2e%2e/server.py", "x/../../server.py", "..\\server.py")
    for path in (*up, "/etc/passwd", "%2fetc%2fpasswd", "."):
        reply = await dashboards.browser().get(f"{ROOT}/static/{path}")
        assert reply.status == 404, path
        assert b"import" not in reply.body


def test_links_and_unknown_types_in_the_bundle_are_not_served(tmp_path: Any) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "secret.js").write_text("no")
    (tmp_path / "static" / "app-12345678.js").write_text("yes")
    (tmp_path / "static" / "link.js").symlink_to(tmp_path / "secret.js")
    (tmp_path / "static" / "notes.py").write_text("no")
    static = Static(tmp_path / "static")
    assert static.file("link.js") is None
    assert static.file("notes.py") is None
    found = static.file("app-12345678.js")
    assert found is not None
    assert "immutable" in str(found.headers["Cache-Control"])


async def test_a_user_sees_and_does_what_the_api_lets_them_and_no_more(dashboards: Dashboards) -> None:
    """Confused deputy (CVE-2026-44945): the dashboard's process could do everything."""
    browser = dashboards.browser()
    assert (await browser.login(await dashboards.token("nobody"))).status == 200
    message = "you may not list"
    for path in ("overview", "clusters", "workloads", "policies"):
        reply = await browser.get(f"{API}/{path}")
        assert (reply.status, message in reply.message) == (403, True), path
    for path in (
        f"workload?{WORKLOAD}",
        "events",
        "drift",
        "object?apiVersion=v1&kind=Secret&namespace=default&name=x",
    ):
        assert (await browser.get(f"{API}/{path}")).status == 403, path
    written = await browser.post(
        f"{API}/apply", {"manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
    )
    assert written.json[0]["action"] == "failed"
    assert "cannot" in written.json[0]["errors"][0]["message"]
    assert (await browser.post(f"{API}/simulate", {})).status == 403
    assert (await browser.get(f"{API}/stream?topics=overview")).status == 403


async def test_nobody_acts_as_another_by_headers(dashboards: Dashboards) -> None:
    """Impersonation is nobody's here, not even the administrator's."""
    browser = await dashboards.admin()
    headers = {"Impersonate-User": "system:serviceaccount:default:ann", "X-Remote-User": "ann"}
    assert (await browser.get(f"{API}/session", **headers)).json["user"] == "system:admin"
    token = await dashboards.token("ann")
    weak = dashboards.browser(token)
    as_admin = {"Impersonate-User": "system:admin", "Impersonate-Group": "system:masters"}
    assert (await weak.get(f"{API}/clusters", **as_admin)).status == 403


async def test_rights_in_a_member_are_each_users_own(dashboards: Dashboards) -> None:
    """CVE-2026-44945, a confused deputy across clusters: who shares what was read of the control plane shares nothing
    of members."""
    await dashboards.member("member1")
    admin = await dashboards.admin()
    other = await dashboards.signed_in("other", "cluster-admin")
    paths = [f"{API}/{path}" for path in ("clusters/member1/nodes", "events?cluster=member1")]
    for browser in (admin, other):
        assert (await browser.api("clusters"))[0]["name"] == "member1"
    assert len(dashboards.dashboard.contexts.boards) == 1, "they may read the same of the control plane"
    for path in paths:
        assert (await admin.get(path)).status == 200
        assert (await other.get(path)).status == 403
        assert (await other.get(path, **{"Impersonate-User": "system:admin"})).status == 403


async def test_a_user_of_one_namespace_sees_that_namespace(dashboards: Dashboards) -> None:
    reading: JSONObject = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    await dashboards.apply(
        deployment(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
        {**deployment("hidden"), "metadata": {"name": "hidden", "namespace": "other"}},
    )
    browser = dashboards.browser()
    await browser.login(await dashboards.token("tenant", reading, namespace="default"))
    refused = await browser.get(f"{API}/workloads")
    assert refused.status == 403
    assert "choose a namespace" in refused.message
    rows = (await browser.api("workloads?namespace=default"))["items"]
    assert [row["ref"]["name"] for row in rows] == ["nginx"]
    assert (await browser.get(f"{API}/workloads?namespace=other")).status == 403


async def test_secrets_are_hidden_unless_asked_for_and_allowed(dashboards: Dashboards) -> None:
    """Credentials in answers (CVE-2025-55190)."""
    await dashboards.hub.resource(SECRETS).create(
        {"metadata": {"name": "keys", "namespace": "default"}, "stringData": {"password": "hunter2"}}
    )
    browser = await dashboards.admin()
    query = "object?apiVersion=v1&kind=Secret&namespace=default&name=keys"
    hidden = await browser.get(f"{API}/{query}")
    assert hidden.json["data"] == {"password": "<redacted>"}
    assert (await browser.api(f"{query}&reveal=true"))["data"] == {"password": "aHVudGVyMg=="}
    shown = await browser.get(f"{API}/workload?apiVersion=v1&kind=Secret&namespace=default&name=keys")
    assert shown.status == 200
    assert b"aHVudGVyMg" not in shown.body
    reader = dashboards.browser()
    reading: JSONObject = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    await reader.login(await dashboards.token("reader", reading))
    assert (await reader.get(f"{API}/{query}&reveal=true")).status == 403


async def test_a_revoked_token_ends_its_session_and_its_streams(dashboards: Dashboards) -> None:
    browser = await dashboards.signed_in("leaver")
    await browser.api("overview")
    await dashboards.hub.resource(ACCOUNTS).delete("leaver", "default")

    async def refused() -> bool:
        return (await browser.get(f"{API}/session")).status == 401

    await eventually(refused)
    assert len(dashboards.dashboard.sessions) == 0


async def test_bodies_of_strangers_are_small(dashboards: Dashboards) -> None:
    reply = await dashboards.browser().ask("POST", f"{ROOT}/login", b"x" * 20_000)
    assert reply.status == 413
    browser = await dashboards.admin()
    assert (await browser.post(f"{API}/dry-run", b"x" * (1024 * 1024 + 1))).status == 413


WRONG = [
    "pods/*/default/x/log",
    "pods/..%2f..%2fx/default/x/log",
    "pods/member1/default/x%2f..%2f..%2fsecrets/log",
    "pods/member1/default%3fx/x/log",
    "pods/member1/default/x/log?container=a%26b",
    "clusters/..",
    "object?apiVersion=v1&kind=Pod&namespace=..&name=x",
    "object?apiVersion=v1/../../x&kind=Pod&namespace=default&name=x",
    "object?apiVersion=v1&kind=Pod&namespace=default&name=x/../../y",
    "object?apiVersion=v1&kind=Pod&namespace=default&name=x&cluster=a/../b",
    "stream?topics=",
    "stream?topics=secrets",
    "workloads?limit=-1",
]


async def test_words_that_would_change_a_path_are_refused(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    for path in WRONG:
        assert (await browser.get(f"{API}/{path}")).status in (400, 404), path


async def test_a_member_cannot_serve_pages_or_read_sessions(dashboards: Dashboards) -> None:
    """A hostile member answers a log with a page and a cookie, and looks at what it is sent."""
    browser = await dashboards.admin()
    seen: list[HttpRequest] = []

    async def answer(credential: object, request: HttpRequest) -> StreamResponse:
        seen.append(request)

        async def chunks() -> Any:
            yield b"<script>alert(1)</script>"

        return StreamResponse(200, chunks(), "text/html", {"Set-Cookie": "karmada-session=x", "X-Evil": "1"})

    upstream: Any = Redirected(dashboards.dashboard.upstream, answer)
    dashboards.dashboard.upstream = upstream
    reply = await browser.get(f"{API}/pods/member1/default/web/log")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert "set-cookie" not in reply.headers
    assert "x-evil" not in reply.headers
    assert set(seen[0].headers) == {"user-agent", "accept"}


class Redirected:
    """An upstream whose requests to members go elsewhere."""

    def __init__(self, inner: object, forward: object) -> None:
        self._inner = inner
        self.forward = forward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def test_writes_are_refused_in_read_only_mode_and_reads_are_not(dashboards: Dashboards) -> None:
    dashboards.dashboard.read_only = "the disk is full"
    browser = await dashboards.admin()
    session = await browser.api("session")
    assert (session["readOnly"], session["reason"]) == (True, "the disk is full")
    manifest = {"manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
    writes = [route for route in table() if route.demand is Demand.WRITE]
    assert {route.path for route in writes} >= {f"{API}/apply", f"{API}/join"}
    for route in writes:
        refused = await browser.post(filled(route), manifest)
        assert refused.status == 403, route
        assert "the disk is full" in refused.message
    assert (await browser.post(f"{API}/dry-run", manifest)).status == 200
    assert (await browser.post(f"{API}/simulate", {})).status == 200
    socket = {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": f"https://{browser.host}"}
    assert (await browser.get(f"{API}/pods/member1/default/web/exec", **socket)).status == 403


async def test_a_session_dies_with_the_rights_of_its_certificate_only(dashboards: Dashboards) -> None:
    """What a certificate's owner may not do, its session may not either."""
    browser = dashboards.browser()
    made = await dashboards.link("visitor", "visitors")
    assert (await browser.login(made["code"])).status == 200
    assert (await browser.api("session"))["groups"] == ["visitors", "system:authenticated"]
    assert (await browser.get(f"{API}/clusters")).status == 403


async def test_the_api_beside_the_dashboard_answers_as_before(dashboards: Dashboards) -> None:
    nobody = dashboards.browser()
    assert (await nobody.get("/version")).status == 200
    assert (await nobody.get("/dashboards")).status == 403
    cookie = await dashboards.admin()
    assert (await cookie.get("/api/v1/secrets")).status == 403
    transport = user_transport(dashboards.world.plane.server, dashboards.world.endpoint, "visitor")
    with pytest.raises(ApiError):
        await transport.raw("GET", "/api/v1/secrets")
    await transport.close()


async def concurrent(browser: Browser, path: str) -> list[Reply]:
    return list(await asyncio.gather(*(browser.get(path) for _ in range(5))))


async def test_requests_at_the_same_time_share_one_board(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    await dashboards.apply(policy("nginx", "member1"), deployment())
    replies = await concurrent(browser, f"{API}/overview")
    assert {reply.status for reply in replies} == {200}
    streams = [await browser.stream("overview") for _ in range(3)]
    for one in streams:
        assert (await one.next())["topic"] == "overview"
        await one.close()

"""Signing in, sessions, one-time links."""

from tests.dashboard.world import API, ROOT, Dashboards


async def test_a_token_signs_in_and_the_session_says_who(dashboards: Dashboards) -> None:
    browser = dashboards.browser()
    reply = await browser.login(await dashboards.token("ann", role="cluster-admin"))
    cookie = reply.headers["set-cookie"]
    assert reply.status == 200
    for part in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/dashboard"):
        assert part in cookie
    session = await browser.api("session")
    assert session["user"] == "system:serviceaccount:default:ann"
    assert session["readOnly"] is False
    assert await browser.api("clusters") == []
    overview = await browser.api("overview")
    assert overview["workloads"] == {"total": 0, "healthy": 0, "progressing": 0, "unhealthy": 0}


async def test_pages_lead_to_the_sign_in_page(dashboards: Dashboards) -> None:
    reply = await dashboards.browser().get(f"{ROOT}/clusters/member1")
    assert (reply.status, reply.headers["location"]) == (303, f"{ROOT}/login")
    assert (await dashboards.browser().get(f"{ROOT}/login")).status == 200
    assert (await dashboards.browser().get(f"{API}/session")).status == 401

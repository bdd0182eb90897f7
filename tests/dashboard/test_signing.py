"""Signing in, sessions, one-time links."""

from pathlib import Path

import pytest
from tests.dashboard.world import API, ROOT, Dashboards
from tests.membership.world import user_transport

from karmada.machinery.errors import NotFound
from karmada.standalone import up
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.standalone.federation import Federation, FederationOptions
from karmada.standalone.layout import Layout


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


async def test_a_control_plane_without_a_dashboard_answers_nothing_there() -> None:
    async with ControlPlane(ControlPlaneOptions()) as plane:
        endpoint = await plane.listen()
        transport = user_transport(plane.server, endpoint, "system:admin", "system:masters")
        with pytest.raises(NotFound):
            await transport.raw("POST", f"{API}/link", b"{}")
        await transport.close()


async def test_a_link_is_printed_to_people_and_never_into_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    federation = Federation(FederationOptions(Layout(tmp_path)), lambda step: None)
    await up._print_dashboard(federation)
    printed = capsys.readouterr().out
    assert "karmada dashboard-token --link" in printed
    assert "once" not in printed
    federation.options.control_flags = ["--enable-dashboard=false"]
    await up._print_dashboard(federation)
    assert capsys.readouterr().out == ""


async def test_a_code_is_pasted_in_place_of_a_token(dashboards: Dashboards) -> None:
    made = await dashboards.link()
    assert made["path"] == f"{ROOT}/login?once={made['code']}"
    browser = dashboards.browser()
    assert (await browser.login(f"  {made['code']}\n")).status == 200
    assert (await browser.api("session"))["user"] == "system:admin"
    assert (await browser.login(made["code"])).status == 401


async def test_what_is_no_token_is_refused_with_a_reason(dashboards: Dashboards) -> None:
    browser = dashboards.browser()
    for token in ("", "two words", "café", "x" * 20_000, None, 5, ["x"]):
        reply = await browser.post(f"{ROOT}/login", {"token": token})
        assert reply.status in (400, 413), token
    assert (await browser.post(f"{ROOT}/login", b"token=x")).status == 400

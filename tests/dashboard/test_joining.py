"""The commands that the dashboard shows for joining: run as they are, they join a cluster."""

import asyncio
import base64
import io
import logging
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.dashboard.world import API, Browser, Dashboards, deployment

from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.dashboard.kinds import EVENTS
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.register import Registration, agent_access
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec


async def instructions(browser: Browser, name: str, mode: str) -> JSONObject:
    reply = await browser.post(f"{API}/join", {"name": name, "mode": mode})
    assert reply.status == 200, reply.body
    found: JSONObject = reply.json
    return found


async def member_config(federation: Dashboards, name: str, folder: Path) -> Path:
    member = await federation.stack.enter_async_context(Member(MemberSpec(name)))
    await member.listen()
    path = folder / f"{name}.config"
    write_kubeconfig(path, member.kubeconfig)
    return path


def set_up(command: str, folder: Path) -> Path:
    """Run the first command; the file it makes."""
    subprocess.run(["sh", "-c", command], cwd=folder, check=True)
    (file,) = folder.glob("karmada-for-*")
    assert file.stat().st_mode & 0o777 == 0o600
    return file


async def test_a_service_account_gets_a_kubeconfig_of_its_own_and_the_command_joins(
    dashboards: Dashboards, tmp_path: Path
) -> None:
    browser = await dashboards.signed_in("ann")
    config = await member_config(dashboards, "newcomer", tmp_path)
    made = await instructions(browser, "newcomer", "Push")
    file = await asyncio.to_thread(set_up, made["setup"], tmp_path)
    program, *words = shlex.split(made["command"].replace(file.name, str(file)))
    assert program == "karmadactl"
    out, err = io.StringIO(), io.StringIO()
    session = Session(out=out, err=err, environment={})
    code = await execute([*words, "--cluster-kubeconfig", str(config)], session)
    assert (code, err.getvalue()) == (0, "")
    await dashboards.world.ready("newcomer")


async def test_the_command_for_an_agent_is_good_for_the_cluster_it_names_only(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    made = await instructions(browser, "puller", "Pull")
    words = shlex.split(made["command"])
    assert words[:3] == ["karmadactl", "register", dashboards.world.endpoint.removeprefix("https://")]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    assert given["--cluster-name"] == "puller"
    secrets = dashboards.hub.resource(objects.SECRETS)
    name = f"bootstrap-token-{given['--token'].partition('.')[0]}"
    held = await secrets.get(name, "kube-system")
    assert "puller" in str(held["metadata"]["annotations"])
    assert b"made in the dashboard by system:admin" in base64.b64decode(held["data"]["description"])
    pins = [given["--discovery-token-ca-cert-hash"]]
    registration = Registration(words[2], given["--token"], "puller", api_endpoint="https://127.0.0.1:1", pins=pins)
    assert b"client-certificate-data" in await agent_access(registration)


async def test_credentials_are_in_the_answer_and_nowhere_else(
    dashboards: Dashboards, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the log, however talkative, nor an event says what was made."""
    caplog.set_level(logging.DEBUG, "karmada")
    logging.getLogger("karmada.dashboard").debug("the log is heard")
    pulled = await instructions(await dashboards.admin(), "puller", "Pull")
    words = shlex.split(pulled["command"])
    bootstrap = words[words.index("--token") + 1].partition(".")[2]
    pushed = await instructions(await dashboards.signed_in("ann"), "newcomer", "Push")
    (bearer,) = (line.split()[1] for line in pushed["setup"].splitlines() if line.strip().startswith("token:"))
    await dashboards.apply(deployment())
    events = await dashboards.hub.resource(EVENTS).list()
    for secret in (bootstrap, bearer, bearer.rpartition(".")[2]):
        assert len(secret) >= 16
        assert secret not in caplog.text
        assert secret not in str(events.items)
    assert "the log is heard" in caplog.text


async def test_who_may_not_make_tokens_gets_a_reason(dashboards: Dashboards) -> None:
    browser = await dashboards.signed_in("viewer", "view")
    for mode in ("Pull", "Push"):
        reply = await browser.post(f"{API}/join", {"name": "newcomer", "mode": mode})
        assert reply.status == 403, reply.body
        assert "cannot create" in reply.message


async def test_the_administrator_of_this_machine_is_led_to_the_kubeconfig_here(dashboards: Dashboards) -> None:
    dashboards.dashboard.administrator = "/data of mine/admin.kubeconfig"
    made = await instructions(await dashboards.admin(), "newcomer", "Push")
    assert made["command"] == "karmadactl join newcomer --kubeconfig '/data of mine/admin.kubeconfig'"
    assert made["setup"] == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"mode": "Pull"}, "name: give the cluster a name"),
        ({"name": "no; reboot", "mode": "Pull"}, "name: invalid cluster name(no; reboot)"),
        ({"name": "fine", "mode": "Other"}, "mode: must be Push or Pull"),
    ],
)
async def test_bad_input_is_named(dashboards: Dashboards, body: JSONObject, message: str) -> None:
    reply = await (await dashboards.admin()).post(f"{API}/join", body)
    assert reply.status == 400
    assert reply.message.startswith(message)


async def test_whoever_may_write_the_address_cannot_write_commands(dashboards: Dashboards) -> None:
    text = '{"clusters": [{"cluster": {"server": "https://h; reboot", "certificate-authority-data": "eA=="}}]}'
    config_maps = dashboards.hub.resource(objects.CONFIG_MAPS)
    await config_maps.patch("cluster-info", {"data": {"kubeconfig": text}}, "kube-public")
    reply = await (await dashboards.admin()).post(f"{API}/join", {"name": "newcomer", "mode": "Pull"})
    assert reply.status == 409
    assert "reboot" not in reply.message

"""Everything that can go wrong can be brought about in four ways, with the same effect."""

import asyncio
import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from karmada.simulator.behaviour import Fate, ImageRule
from karmada.simulator.command import sim
from karmada.simulator.control import ControlApi
from karmada.simulator.faults import Faults
from karmada.simulator.fleet import Fleet
from karmada.simulator.interference import WebhookRule
from karmada.simulator.member import Member
from karmada.simulator.spec import parse

NODE = "m-node-1"


@dataclass(frozen=True)
class Trouble:
    """One thing that goes wrong, as each way says it."""

    python: Callable[[Member], Any]
    request: tuple[str, str, dict[str, Any]]
    command: list[str]
    file: dict[str, Any]
    faults: Faults = field(default_factory=Faults)
    dead: frozenset[str] = frozenset()
    image: ImageRule | None = None


def fault(command: list[str], **change: Any) -> Trouble:
    faults = Faults(**change)
    import msgspec

    usual = msgspec.to_builtins(Faults())
    tree = {name: value for name, value in msgspec.to_builtins(faults).items() if value != usual[name]}
    return Trouble(
        lambda member: member.change_faults(**change), ("PATCH", "faults", tree), command, {"faults": tree}, faults
    )


def image(fate: Fate, seconds: float = 0.0) -> Trouble:
    rule = ImageRule("*web*", fate, seconds)
    tree = {"pattern": "*web*", "fate": str(fate), "seconds": seconds}
    command = ["image", "m", "*web*", str(fate), "--seconds", str(seconds)]
    return Trouble(
        lambda member: member.behaviour.set_rule(rule), ("PUT", "images", tree), command, {"images": [tree]}, image=rule
    )


POLICY = WebhookRule("policy", "deployments.apps", reject="no")
SIDECAR = WebhookRule("mesh", "pods", merge={"metadata": {"labels": {"mesh": "on"}}})
TROUBLES = {
    "cluster down": fault(["fault", "m", "--down"], down=True),
    "hanging": fault(["fault", "m", "--hang"], hanging=True),
    "slow": fault(["fault", "m", "--slow", "300"], slow_milliseconds=300),
    "rejecting": fault(["fault", "m", "--reject", "503"], rejecting=503),
    "network down": fault(["fault", "m", "--network-down"], network_down=True),
    "certificate expired": fault(["fault", "m", "--expired"], certificate_expired=True),
    "clock skew": fault(["fault", "m", "--skew", "60"], clock_skew_seconds=60.0),
    "quota exhausted": fault(["quota", "m", "default", "full"], full_namespaces=("default",)),
    "webhook rejects": fault(
        ["webhook", "m", "policy", "--resources", "deployments.apps", "--reject", "no"], webhooks=(POLICY,)
    ),
    "webhook mutates": fault(
        ["webhook", "m", "mesh", "--resources", "pods", "--merge", json.dumps(SIDECAR.merge)], webhooks=(SIDECAR,)
    ),
    "node down": Trouble(
        lambda member: member.set_node_down(NODE),
        ("PUT", f"nodes/{NODE}", {"down": True}),
        ["node", "m", NODE, "down"],
        {"deadNodes": [NODE]},
        dead=frozenset({NODE}),
    ),
    "image never ready": image(Fate.NEVER_READY),
    "image crashes": image(Fate.CRASH, 5.0),
    "image ready after seconds": image(Fate.READY, 30.0),
}
each_trouble = pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())


def member_of(trouble: Trouble | None = None) -> Fleet:
    return Fleet(parse({"members": [{"name": "m"} | (trouble.file if trouble else {})]}))


def check(member: Member, trouble: Trouble) -> None:
    assert member.faults == trouble.faults
    assert member.behaviour.dead_nodes == trouble.dead
    if trouble.image is not None:
        assert member.behaviour.of("registry/web:1") == trouble.image


@each_trouble
async def test_in_python(trouble: Trouble) -> None:
    async with member_of() as fleet:
        outcome = trouble.python(fleet["m"])
        if asyncio.iscoroutine(outcome):
            await outcome
        check(fleet["m"], trouble)


@each_trouble
async def test_by_the_control_api(trouble: Trouble) -> None:
    def ask(port: int, token: str) -> int:
        method, where, body = trouble.request
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        headers = {"Authorization": f"Bearer {token}"}
        connection.request(method, f"/v1/members/m/{where}", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    async with member_of() as fleet:
        control = ControlApi(fleet)
        port = await control.listen()
        assert await asyncio.to_thread(ask, port, control.token) == 200
        await control.stop()
        check(fleet["m"], trouble)


@each_trouble
async def test_by_command(trouble: Trouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with member_of() as fleet:
        control = ControlApi(fleet)
        port = await control.listen()
        access = {"control": {"url": f"http://127.0.0.1:{port}", "token": control.token}}
        (tmp_path / "fleet.json").write_text(json.dumps(access))
        assert await asyncio.to_thread(sim, ["--data", str(tmp_path), *trouble.command]) == 0
        check(fleet["m"], trouble)
        output = capsys.readouterr().out
        assert output.startswith("m ")
        assert ("healthy" in output) == (trouble.image is not None)
        await control.stop()


async def test_a_node_that_is_not_there_is_refused_with_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with member_of() as fleet:
        control = ControlApi(fleet)
        port = await control.listen()
        access = {"control": {"url": f"http://127.0.0.1:{port}", "token": control.token}}
        (tmp_path / "fleet.json").write_text(json.dumps(access))
        assert await asyncio.to_thread(sim, ["--data", str(tmp_path), "node", "m", "m-nod", "down"]) == 1
        assert capsys.readouterr().err.startswith("error: there is no node 'm-nod' in m; there are ")
        await control.stop()


@each_trouble
async def test_in_the_fleet_file(trouble: Trouble) -> None:
    async with member_of(trouble) as fleet:
        check(fleet["m"], trouble)

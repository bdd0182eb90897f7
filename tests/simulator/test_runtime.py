"""Logs and the console of simulated containers, without a network."""

import pytest
from tests.simulator.conftest import template

from karmada.machinery.httpserver.backends import ExecRequest, LogRequest, TerminalSize
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.runtime.console import Console
from karmada.simulator.runtime.logs import Logs
from karmada.simulator.workloads.kinds import PODS

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class Terminal:
    """A client's end of an exec."""

    def __init__(self, *typed: bytes) -> None:
        self._typed = list(typed)
        self.shown = b""
        self.errors = b""

    async def read(self) -> bytes:
        return self._typed.pop(0) if self._typed else b""

    async def write(self, data: bytes) -> None:
        self.shown += data

    async def write_error(self, data: bytes) -> None:
        self.errors += data

    async def resized(self) -> TerminalSize:
        raise AssertionError("nobody asks")


async def running(actor, **spec):
    made = template({"app": "x"}, **spec)
    body = {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {"name": "p", "namespace": "default"}}
    await actor.create(PODS, body)
    await actor.clock.sleep(1)


async def log(actor, **wanted):
    logs = Logs(actor.member.server.store, actor.clock)
    return [line async for line in logs.logs(LogRequest("default", "p", "c", **wanted))]


async def typed(actor, *command, lines=(), **streams):
    terminal = Terminal(*lines)
    request = ExecRequest("default", "p", "c", command, bool(lines), True, True, streams.get("tty", False))
    status = await Console(actor.member.server.store, actor.clock).execute(request, terminal)
    return status, terminal


def test_a_log_grows_with_time(act):
    async def scene(actor):
        await running(actor)
        first = await log(actor)
        assert first == [b"nginx:1 started in default/p\n"]
        await actor.clock.sleep(20)
        lines = await log(actor)
        assert len(lines) == 5
        assert await log(actor, tail=2) == lines[-2:]
        assert await log(actor, limit_bytes=5) == [b"nginx"]
        assert len(await log(actor, since_seconds=3)) == 1
        assert (await log(actor, timestamps=True))[0].startswith(b"2023-11-14T")

    act(scene)


def test_a_followed_log_ends_with_its_container(act):
    async def scene(actor):
        await running(actor)
        logs = Logs(actor.member.server.store, actor.clock)
        followed = logs.logs(LogRequest("default", "p", "c", follow=True))
        assert b"started" in await anext(followed)
        assert await anext(followed) == b"request 1 handled\n"
        await actor.delete(PODS, "p")
        assert [line async for line in followed] == []

    act(scene)


@pytest.mark.parametrize(
    ("image", "wanted", "message"),
    [
        ("missing", {}, 'container "c" in pod "p" is waiting to start: ImagePullBackOff'),
        ("nginx", {"previous": True}, 'previous terminated container "c" in pod "p" not found'),
    ],
)
def test_a_log_that_is_not_there_is_refused_before_an_answer_begins(act, image, wanted, message):
    async def scene(actor):
        await running(actor, container={"image": image})
        logs = Logs(actor.member.server.store, actor.clock)
        with pytest.raises(Failure) as refused:
            logs.logs(LogRequest("default", "p", "c", **wanted))
        assert (refused.value.code, refused.value.message) == (400, message)

    act(scene)


def test_a_command_says_what_it_says(act):
    async def scene(actor):
        await running(actor, container={"command": ["sh", "-c", "echo one; echo two; sleep infinity"]})
        assert await log(actor) == [b"one\n", b"two\n"]

    act(scene)


def test_a_console_reads_lines_until_exit(act):
    async def scene(actor):
        await running(actor)
        status, terminal = await typed(actor, "sh", lines=(b"hostname\necho a", b"b\nexit 5\n"))
        assert (status.code, terminal.shown) == (5, b"p\nab\n")
        status, terminal = await typed(actor, "nginx", "-v")
        assert "executable file not found" in status.message
        status, terminal = await typed(actor, "cat", "/nothing")
        assert (status.code, terminal.errors) == (1, b"cat: can't open '/nothing': No such file or directory\n")

    act(scene)


def test_mounted_config_maps_can_be_read(act):
    async def scene(actor):
        metadata = {"name": "settings", "namespace": "default"}
        await actor.create(
            CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1\n"}}
        )
        mount = {"name": "settings", "mountPath": "/etc/settings"}
        volume = {"name": "settings", "configMap": {"name": "settings"}}
        await running(actor, volumes=[volume], container={"volumeMounts": [mount]})
        _, terminal = await typed(actor, "cat", "/etc/settings/a")
        assert terminal.shown == b"1\n"

    act(scene)

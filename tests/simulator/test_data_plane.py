"""Requests into simulated members: which pod answers, under which names, and when nobody does."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from tests.simulator.conftest import Actor, deployment, template
from tests.simulator.test_runtime import Terminal

from karmada.machinery.errors import Unavailable
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.httpserver.backends import ExecRequest, LogRequest
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.command import sim
from karmada.simulator.control import ControlApi
from karmada.simulator.fleet import Fleet
from karmada.simulator.member import Member
from karmada.simulator.network.plane import Unreachable
from karmada.simulator.network.program import BadArguments, parse
from karmada.simulator.runtime.console import STARTING
from karmada.simulator.spec import FleetSpec, MemberSpec
from karmada.simulator.workloads.kinds import DEPLOYMENTS, ENDPOINT_SLICES, PODS, SERVICES
from karmada.testing.loop import VirtualClock, run_virtual

HELLO = ("echo", "hello")
CLIENT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "client", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "busybox"}]},
}


def service(name: str = "web", app: str = "web", port: int = 80, **spec: Any) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": app}, "ports": [{"port": port, "targetPort": 8080}], **spec},
    }


def web(*args: str, replicas: int = 1) -> JSONObject:
    made = deployment(replicas=replicas)
    container = {"name": "c", "image": "karmada.sim/http:1", "args": list(args)}
    made["spec"]["template"] = template({"app": "web"}, container=container)
    return made


class Scene:
    """Two members on one network."""

    def __init__(self, fleet: Fleet, clock: VirtualClock) -> None:
        self.fleet = fleet
        self.one, self.two = Actor(fleet["member1"], clock), Actor(fleet["member2"], clock)

    async def typed(self, actor: Actor, *command: str) -> Terminal:
        terminal = Terminal()
        request = ExecRequest("default", "client", "c", command, False, True, True, False)
        console = actor.member.server.options.backends.exec
        assert console is not None
        status = await console.execute(request, terminal)
        terminal.code = status.code  # type: ignore[attr-defined]
        return terminal

    async def stand(self, actor: Actor, *objects: tuple[GroupVersionResource, JSONObject]) -> None:
        for type_, tree in ((PODS, CLIENT), *objects):
            await actor.create(type_, tree | {"metadata": dict(tree["metadata"])})

        async def running() -> bool:
            return all((pod.get("status") or {}).get("phase") == "Running" for pod in await actor.pods())

        await actor.until(running)
        await actor.clock.sleep(1)


@pytest.fixture
def play() -> Callable[..., Any]:
    def played(scene: Callable[[Scene], Any]) -> Any:
        async def main() -> Any:
            clock = VirtualClock()
            spec = FleetSpec((MemberSpec("member1"), MemberSpec("member2")))
            async with Fleet(spec, clock=clock, random=Random(1)) as fleet:
                return await scene(Scene(fleet, clock))

        return run_virtual(main, 1)

    return played


@pytest.mark.parametrize(
    "host", ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local", "web.default.svc.cluster.local."]
)
def test_a_service_answers_by_all_its_names(play: Callable[..., Any], host: str) -> None:
    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, web()), (SERVICES, service()))
        echo = orjson.loads((await at.typed(at.one, "curl", "-s", f"http://{host}/a?b=c")).shown)
        assert (echo["cluster"], echo["path"], echo["port"]) == ("member1", "/a?b=c", 8080)
        assert echo["pod"].startswith("web-")

    play(scene)


def test_a_service_shares_requests_between_its_ready_pods(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, web(replicas=3)), (SERVICES, service()))
        answers = [orjson.loads((await at.typed(at.one, "curl", "-s", "web")).shown)["pod"] for _ in range(6)]
        assert len(set(answers)) == 3

    play(scene)


def test_names_that_mean_nothing_and_ports_nobody_has(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, web("--port=8081")), (SERVICES, service()))
        unknown = await at.typed(at.one, "curl", "http://nobody.default")
        assert (unknown.code, unknown.errors) == (6, b"curl: (6) Could not resolve host: nobody.default\n")  # type: ignore[attr-defined]
        assert (await at.typed(at.one, "curl", "-sS", "web:81")).code == 7  # type: ignore[attr-defined]
        assert b"does not listen on port 8080" in (await at.typed(at.one, "curl", "-sS", "web")).errors
        assert (await at.typed(at.one, "wget", "-qO-", "http://nobody")).errors == b"wget: bad address 'nobody'\n"
        assert b"NXDOMAIN" in (await at.typed(at.one, "nslookup", "nobody")).shown

    play(scene)


def test_dns_gives_the_cluster_ip_and_the_pods_of_headless_services(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        headless = service("each", clusterIP="None")
        await at.stand(at.one, (DEPLOYMENTS, web(replicas=2)), (SERVICES, service()), (SERVICES, headless))
        address = (await at.one.get(SERVICES, "web"))["spec"]["clusterIP"]
        assert f"Address: {address}\n".encode() in (await at.typed(at.one, "nslookup", "web")).shown
        pods = {p["status"]["podIP"] for p in await at.one.pods() if p["metadata"]["name"] != "client"}
        shown = (await at.typed(at.one, "nslookup", "each")).shown.decode()
        assert {line.partition(": ")[2] for line in shown.splitlines() if line.startswith("Address: ")} == pods
        assert orjson.loads((await at.typed(at.one, "curl", "-s", address)).shown)["cluster"] == "member1"

    play(scene)


@pytest.mark.parametrize("how", ["dispatched", "imported"])
def test_an_endpoint_slice_of_another_member_leads_there(play: Callable[..., Any], how: str) -> None:
    name = "web" if how == "dispatched" else "derived-web"

    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, web()), (SERVICES, service()))
        (local,) = [s for s in await at.one.items(ENDPOINT_SLICES) if s["metadata"]["name"].startswith("web")]
        manager = "endpointslice-dispatch-controller" if how == "dispatched" else "endpointslice-controller"
        foreign = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "addressType": "IPv4",
            "metadata": {
                "name": f"{'' if how == 'dispatched' else 'imported-'}member1-{local['metadata']['name']}",
                "namespace": "default",
                "labels": {
                    "kubernetes.io/service-name": name,
                    "endpointslice.kubernetes.io/managed-by": f"{manager}.karmada.io",
                },
                "annotations": {"endpointslice.karmada.io/provision-cluster": "member1"} if how == "dispatched" else {},
            },
            "endpoints": local["endpoints"],
            "ports": local["ports"],
        }
        bare = service(name)
        del bare["spec"]["selector"]
        await at.stand(at.two, (SERVICES, bare), (ENDPOINT_SLICES, foreign))
        host = f"{name}.default.svc.cluster.local"
        assert orjson.loads((await at.typed(at.two, "curl", "-s", host)).shown)["cluster"] == "member1"
        if how == "imported":
            set_name = "web.default.svc.clusterset.local"
            assert orjson.loads((await at.typed(at.two, "curl", "-s", set_name)).shown)["cluster"] == "member1"

        await at.fleet["member1"].change_faults(network_down=True)
        assert (await at.typed(at.two, "curl", "-s", host)).code == 7  # type: ignore[attr-defined]
        assert (await at.typed(at.one, "curl", "-s", "localhost")).code == 0  # type: ignore[attr-defined]

    play(scene)


def test_the_http_image_does_what_its_arguments_say(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, web("--status", "503", "--text=busy", "--delay=2")), (SERVICES, service()))
        before = at.one.clock.monotonic()
        output = await at.typed(at.one, "curl", "-s", "-w", " %{http_code}", "web")
        assert (output.shown, at.one.clock.monotonic() - before) == (b"busy 503", STARTING + 2.0)
        assert (await at.typed(at.one, "curl", "-sf", "web")).code == 22  # type: ignore[attr-defined]
        assert (await at.typed(at.one, "curl", "-m", "1", "web")).code == 28  # type: ignore[attr-defined]

    play(scene)


def test_a_pod_that_calls_another_service_does_so_by_its_cluster_name(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        caller = {"metadata": {"name": "caller", "namespace": "default", "labels": {"app": "caller"}}}
        container = {"name": "c", "image": "karmada.sim/http", "args": ["--call=http://web.default.svc.cluster.local"]}
        pod = {"apiVersion": "v1", "kind": "Pod", **caller, "spec": {"containers": [container]}}
        await at.stand(at.one, (DEPLOYMENTS, web("--text=hello")), (SERVICES, service()), (PODS, pod))
        address = (await at.one.get(PODS, "caller"))["status"]["podIP"]
        echo = orjson.loads((await at.typed(at.one, "curl", "-s", f"{address}:9")).shown)
        assert echo["called"] == {"status": 200, "answer": "hello"}

    play(scene)


@pytest.mark.parametrize("words", [["--status=99"], ["--delay=x"], ["--port=0"], ["--what"], ["--header=none"]])
def test_arguments_that_make_no_sense_are_named(words: list[str]) -> None:
    with pytest.raises(BadArguments, match=words[0].partition("=")[0]):
        parse(words)


async def _get(port: int, path: str = "/") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]


async def _one_pod(member: Member) -> None:
    await member.inside.resource(PODS).create({**CLIENT, "metadata": dict(CLIENT["metadata"])})

    async def runs() -> bool:
        found = await member.inside.resource(PODS).get("client", "default")
        return bool(found["status"].get("phase") == "Running")

    await _until(runs)


async def _until(holds: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(1000):
        if found := await holds():
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("did not happen")


async def test_a_loopback_port_opens_when_asked_for_and_closes_with_its_pod() -> None:
    async with Member(MemberSpec("member1")) as member:
        await _one_pod(member)
        assert len(member.ports) == 0
        target = member.network.at("member1", "default", "client", 80)
        host, port = await member.ports.address(target)
        assert (await member.ports.address(target), host, len(member.ports)) == ((host, port), "127.0.0.1", 1)
        assert orjson.loads(await _get(port, "/x"))["path"] == "/x"

        await member.inside.resource(PODS).delete("client", "default")

        async def refused() -> bool:
            return _refused(port)

        await _until(refused)
        with pytest.raises(Unreachable, match="gone"):
            await member.ports.address(target)


def _refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


async def test_a_service_has_a_loopback_address_whose_requests_reach_the_pods_of_the_moment() -> None:
    async with Member(MemberSpec("member1")) as member:
        await member.inside.resource(DEPLOYMENTS).create(web(replicas=2))
        await member.inside.resource(SERVICES).create(service())
        _, port = await member.ports.entrance("default", "web", 80)

        async def seen() -> set[str]:
            answers = [await _get(port) for _ in range(4)]
            return {orjson.loads(answer)["pod"] for answer in answers if b"cluster" in answer}

        async def both() -> bool:
            return len(await seen()) == 2

        await _until(both)
        await member.inside.resource(DEPLOYMENTS).patch("web", {"spec": {"replicas": 0}}, "default")

        async def none() -> bool:
            return not await seen()

        await _until(none)


async def test_a_command_gives_a_service_an_address_and_says_when_there_is_no_such_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Fleet(FleetSpec((MemberSpec("member1"),))) as fleet:
        await fleet["member1"].inside.resource(SERVICES).create(service())
        control = ControlApi(fleet)
        access = {"url": f"http://127.0.0.1:{await control.listen()}", "token": control.token}
        (tmp_path / "fleet.json").write_bytes(orjson.dumps({"control": access}))
        words = ["--data", str(tmp_path), "open", "member1"]
        assert await asyncio.to_thread(sim, [*words, "web.default:80"]) == 0
        address = capsys.readouterr().out.strip()
        assert address.startswith("http://127.0.0.1:")
        assert b"no ready endpoints" in await _get(int(address.rpartition(":")[2]))
        assert await asyncio.to_thread(sim, [*words, "nobody.default"]) == 1
        assert capsys.readouterr().err == "error: nobody.default is not known in member1\n"
        await control.stop()


async def test_the_api_server_passes_requests_on_to_pods_and_services() -> None:
    async with Member(MemberSpec("member1")) as member:
        await _one_pod(member)
        await member.inside.resource(DEPLOYMENTS).create(web())
        await member.inside.resource(SERVICES).create(service())
        await member.listen()
        transport = HttpTransport(from_bytes(orjson.dumps(member.kubeconfig)).target())
        try:
            base = "/api/v1/namespaces/default"
            echo = orjson.loads(await transport.raw("GET", f"{base}/pods/client:81/proxy/a/b?c=d"))
            assert (echo["pod"], echo["port"], echo["path"]) == ("client", 81, "/a/b?c=d")

            async def answered() -> bytes:
                with contextlib.suppress(Unavailable):
                    return await transport.raw("GET", f"{base}/services/http:web:80/proxy/")
                return b""

            assert orjson.loads(await _until(answered))["pod"].startswith("web-")
        finally:
            await transport.close()


def listeners(name: str = "hello") -> JSONObject:
    """A deployment whose two containers answer connections to port 42, one over TCP, one over UDP."""
    made = deployment(name, replicas=1)
    made["spec"]["selector"] = {"matchLabels": {"app": name}}
    made["spec"]["template"] = template({"app": name})
    made["spec"]["template"]["spec"]["containers"] = [
        {"name": "tcp", "image": "busybox", "args": ["nc", "-lk", "-p", "42", "-v", "-e", *HELLO]},
        {"name": "udp", "image": "busybox", "args": ["nc", "-lk", "-p", "42", "-u", "-v", "-e", "cat"]},
    ]
    return made


PORTS = [
    {"name": "udp", "port": 53, "targetPort": 42, "protocol": "UDP"},
    {"name": "tcp", "port": 53, "targetPort": 42},
]


def test_nc_shows_what_the_nc_behind_a_service_answers_by_protocol(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        await at.stand(at.one, (DEPLOYMENTS, listeners()), (SERVICES, service("hello", "hello", ports=PORTS)))
        assert (await at.typed(at.one, "nc", "hello", "53")).shown == b"hello\n"
        assert (await at.typed(at.one, "sh", "-c", "echo hi | nc -u hello 53")).shown == b"hi\n"
        refused = await at.typed(at.one, "nc", "hello", "54")
        assert refused.errors == b"nc: hello:54: service default/hello in member1 has no TCP port 54\n"
        assert (await at.typed(at.one, "nc", "-u", "hello", "54")).errors == b"", "nobody notices a lost datagram"
        assert (await at.typed(at.one, "nc", "nowhere", "1")).errors == b"nc: bad address 'nowhere'\n"
        assert (await at.typed(at.one, "nc", "-l")).code == 1  # type: ignore[attr-defined]

    play(scene)


def test_the_log_of_a_container_that_connects_says_what_it_was_answered(play: Callable[..., Any]) -> None:
    async def scene(at: Scene) -> None:
        request = {
            **CLIENT,
            "metadata": {"name": "asking", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "busybox", "args": ["nc", "hello", "53"]}]},
        }
        objects = (DEPLOYMENTS, listeners()), (SERVICES, service("hello", "hello", ports=PORTS)), (PODS, request)
        await at.stand(at.one, *objects)
        logs = at.one.member.server.options.backends.logs
        assert logs is not None
        assert [line async for line in logs.logs(LogRequest("default", "asking", "c"))] == [b"hello\n"]

    play(scene)

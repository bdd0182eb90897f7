"""FederatedHPAs and the metrics adapter read members of both modes, and name those that no way leads to."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests import programs
from tests.membership.mixed import AUTOSCALER, CLOSED, DEPLOYMENT, NAMES, SHARES, Mixed, mixed, policy
from tests.membership.world import QUICK, eventually

from karmada.controllers.federated_hpa import AutoscalerOptions
from karmada.controllers.selection import parse_selection
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.standalone.control_plane import METRICS_ADAPTER, ControlPlaneOptions

POD_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
EVENTS = GroupVersionResource("", "v1", "events")
FROM = "resource.karmada.io/query-from-cluster"
SCALING = AutoscalerOptions(period=1.0, cpu_initialization=0.0)
ATTEMPTS = 12_000
SECONDS = 120.0
HPA = "federatedHorizontalPodAutoscaler"
READABLE = {name: share for name, share in SHARES.items() if name != CLOSED}
UTILIZATION = sum(100 * (NAMES.index(name) + 1) * share for name, share in READABLE.items()) // sum(READABLE.values())
"""Of pods that ask for 100 m each: the average over all pods that can be read."""
WHY = r"its agent reports no credentials \(--report-secrets\) and has no tunnel open \(--enable-tunnel\)"


async def scaled(world: Mixed) -> JSONObject:
    """The autoscaler once it has counted the pods of every member that can be read."""

    async def look() -> JSONObject:
        found = await world.autoscaler()
        metric = found["status"]["currentMetrics"][0]["resource"]["current"]
        assert metric["averageUtilization"] == UTILIZATION, found["status"]
        return found

    found: JSONObject = await eventually(look, ATTEMPTS)
    return found


def condition(found: JSONObject, type_: str) -> JSONObject:
    return next(one for one in found["status"]["conditions"] if one["type"] == type_)


async def check_autoscaler(world: Mixed) -> None:
    await world.apply(DEPLOYMENT, policy(), AUTOSCALER)
    found = await scaled(world)
    assert condition(found, "ScalingActive")["status"] == "True"
    read = condition(found, "ClustersRead")
    assert (read["status"], read["reason"]) == ("False", "ClusterNotReadable")
    assert re.fullmatch(f"{CLOSED}: .*{WHY}", read["message"])

    async def named() -> bool:
        events = (await world.hub.resource(EVENTS).list(Scope("default"))).items
        return [event["message"] for event in events if event["reason"] == "ClusterNotReadable"] == [read["message"]]

    await eventually(named, ATTEMPTS)


async def rows(client: Client) -> dict[str, int]:
    found = (await client.resource(POD_METRICS).list(Scope("default"), page_size=0)).items
    clusters = [one["metadata"]["annotations"][FROM] for one in found]
    return {name: clusters.count(name) for name in clusters}


async def check_metrics(client: Client, warnings: list[str]) -> None:
    async def complete() -> bool:
        return await rows(client) == READABLE

    await eventually(complete, ATTEMPTS)
    assert any(re.search(f"cluster {CLOSED} is missing: .*{WHY}", text) for text in warnings), warnings


@pytest.mark.tools
async def test_karmada_up_reads_every_member_that_a_way_leads_to(tmp_path: Path) -> None:
    options = ControlPlaneOptions(options=Options(QUICK, SCALING), addons=frozenset({METRICS_ADAPTER}))
    async with mixed(options) as world:
        await check_autoscaler(world)
        access = world.access(tmp_path, "admin", "system:masters")
        warnings: list[str] = []
        client = Client(HttpTransport(load([access]).target(), warn=warnings.append))
        await check_metrics(client, warnings)
        await client.close()
        pipe = asyncio.subprocess.PIPE
        top = await asyncio.create_subprocess_exec(
            programs.kubectl(),
            *("top", "pods", "-n", "default", "--no-headers"),
            stdout=pipe,
            stderr=pipe,
            env={**os.environ, "KUBECONFIG": str(access), "HOME": str(tmp_path)},
        )
        out, err = await top.communicate()
        assert top.returncode == 0, err.decode()
        shown = [line.split()[1] for line in out.decode().splitlines()]
        assert {cpu: shown.count(cpu) for cpu in shown} == {"100m": 1, "200m": 2, "300m": 3}
        assert f"cluster {CLOSED} is missing" in err.decode()


@asynccontextmanager
async def running(entry: str, *flags: str) -> AsyncIterator["asyncio.Future[int]"]:
    """A program of its own, until it is stopped; the port that it serves on, once it does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"from karmada.cli.entry import {entry}; {entry}()", *flags),
        stderr=asyncio.subprocess.PIPE,
    )
    lines: list[str] = []
    ready = asyncio.get_running_loop().create_future()

    async def read() -> None:
        assert process.stderr is not None
        while line := (await process.stderr.readline()).decode():
            lines.append(line)
            if (found := re.search(r"serving on port (\d+)", line)) is not None and not ready.done():
                ready.set_result(int(found[1]))
        if not ready.done():
            ready.set_exception(AssertionError(f"{entry} has ended: {''.join(lines)}"))

    reader = asyncio.create_task(read())
    try:
        yield ready
    finally:
        ready.cancel()
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), SECONDS)
        await reader


async def test_the_programs_read_every_member_that_a_way_leads_to(tmp_path: Path) -> None:
    """The controller manager and the metrics adapter as processes, each with the rights of its own user."""
    options = ControlPlaneOptions(options=Options(QUICK), selection=parse_selection(f"*,-{HPA}", (HPA,)))
    async with mixed(options) as world:
        manager = (
            f"--kubeconfig={world.access_of(tmp_path, 'karmada-controller-manager')}",
            f"--controllers={HPA}",
            "--leader-elect=false",
            "--health-probe-bind-address=0",
            "--metrics-bind-address=0",
            "--horizontal-pod-autoscaler-sync-period=1s",
            "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
        )
        async with running("controller_manager", *manager):
            await check_autoscaler(world)
        (tmp_path / "ca.crt").write_bytes(world.plane.server.identity.authority.certificate_pem)
        adapter = (
            f"--kubeconfig={world.access_of(tmp_path, 'karmada-metrics-adapter')}",
            f"--client-ca-file={tmp_path / 'ca.crt'}",
            f"--cert-dir={tmp_path / 'certificates'}",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
        )
        async with running("metrics_adapter", *adapter) as serving:
            identity = load([world.access(tmp_path, "admin", "system:masters")]).target().identity
            port = await asyncio.wait_for(serving, SECONDS)
            target = Target(f"https://127.0.0.1:{port}", insecure=True, identity=identity)
            warnings: list[str] = []
            client = Client(HttpTransport(target, warn=warnings.append))
            await check_metrics(client, warnings)
            await client.close()

"""A FederatedHPA under a load that rises and falls, drawn: `python -m tests.federation.closed_loop FILE.svg`.

Three simulated clusters in virtual time: the work that pods share is a profile, member1 stops answering in between. A
run is reproducible, so the picture is as well.
"""

import asyncio
import bisect
import contextlib
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from karmada.api import feature_gates
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.federated_hpa import AutoscalerOptions
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Request
from karmada.simulator.spec import FleetSpec
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import Federation
from karmada.testing.loop import VirtualClock, run_virtual

PODS = GroupVersionResource("", "v1", "pods")
PROBING = StatusOptions(period=5.0, success_threshold=0, failure_threshold=0, probe_timeout=2.0)
REQUEST = 100
"""Thousandths of a CPU that a pod asks for; half of it is the target."""
IDEAL = REQUEST // 2
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: nginx:1.25
        resources: {requests: {cpu: 100m}}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 1}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
        - {targetCluster: {clusterNames: [member3]}, weight: 1}
"""
AUTOSCALER = """
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 24
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"""
PROFILE = ((0, 350), (60, 350), (120, 1050), (300, 1050), (330, 1250), (450, 1250), (480, 300), (660, 300))
"""Seconds, and thousandths of a CPU that the load is then; between two points it changes evenly."""
LOST, BACK = 180, 390
"""Seconds at which member1 stops answering, and answers again."""
WEIGHTS = (4, 2, 1)
"""Of the clusters. Shares by powers of two are never equal, so nothing is left to the template's uid."""
STEP = 15
"""Seconds between two looks, the autoscaler's and ours."""


class Load:
    """Work that all running pods of all clusters share evenly, in thousandths of a CPU."""

    def __init__(self, federation: Federation, clock: VirtualClock) -> None:
        self._federation = federation
        self._clock = clock
        self.total = 0

    async def run(self) -> None:
        """Share it out every second."""
        while True:
            serving = sum((await self.serving()).values())
            each = math.ceil(self.total / serving) if serving else IDEAL
            for member in self._federation.members.values():
                member.use("default/web-*", each)
            await self._clock.sleep(1)

    async def serving(self) -> dict[str, int]:
        """Running pods by cluster."""
        running = {}
        for name, member in self._federation.members.items():
            pods = (await member.client.resource(PODS).list(Scope("default", "app=web"))).items
            running[name] = sum(pod["status"].get("phase") == "Running" for pod in pods)
        return running


@contextlib.asynccontextmanager
async def under_load(federation: Federation, clock: VirtualClock, total: int) -> AsyncIterator[Load]:
    """Have pods share a load, which may be changed meanwhile."""
    load = Load(federation, clock)
    load.total = total
    task = asyncio.create_task(load.run())
    try:
        yield load
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def in_virtual_time(
    scenario: Callable[[Federation, VirtualClock], Awaitable[None]],
    fleet: FleetSpec | None = None,
    stabilization: float = 60.0,
    on_request: Callable[[str, Request], None] | None = None,
    gates: str = "",
) -> None:
    """Run a scenario on three clusters."""

    async def main() -> None:
        clock = VirtualClock()
        # The CPU of new pods counts at once: what a pod uses here does not depend on its age.
        hpa = AutoscalerOptions(stabilization=stabilization, cpu_initialization=0.0)
        options = ControlPlaneOptions(options=Options(PROBING, hpa), gates=feature_gates.parse(gates), clock=clock)
        async with Federation(3, fleet=fleet, options=options, on_request=on_request) as federation:
            await scenario(federation, clock)

    run_virtual(main)


class Look(NamedTuple):
    """The federation at one moment."""

    seconds: int
    load: int
    replicas: int
    """The template's."""
    running: dict[str, int]
    """Pods by cluster."""


def closed_loop() -> list[Look]:
    """Run the profile, and look every interval."""
    looks: list[Look] = []

    async def scenario(federation: Federation, clock: VirtualClock) -> None:
        async with under_load(federation, clock, PROFILE[0][1]) as load:
            await federation.apply(DEPLOYMENT, _weighted(POLICY), AUTOSCALER.replace("24", "30"))
            await clock.sleep(4 * STEP)
            for second in range(PROFILE[-1][0] + 1):
                load.total = load_at(second)
                if second == LOST:
                    federation.members["member1"].fail()
                if second == BACK:
                    federation.members["member1"].recover()
                if second % STEP == 0:
                    replicas = (await federation.get("Deployment", "web"))["spec"]["replicas"]
                    looks.append(Look(second, load.total, replicas, await load.serving()))
                await clock.sleep(1)

    in_virtual_time(scenario)
    return looks


def _weighted(policy: str) -> str:
    for number, weight in enumerate(WEIGHTS, 1):
        policy = policy.replace(f"[member{number}]}}, weight: 1", f"[member{number}]}}, weight: {weight}")
    return policy


def load_at(second: float) -> int:
    """The load of the profile at a moment."""
    after = max(1, bisect.bisect_left(PROFILE, (second, 0)))
    (since, low), (until, high) = PROFILE[after - 1 : after + 1]
    return round(low + (high - low) * (second - since) / (until - since))


LEFT, WIDE, HIGH, TOP = 44, 760, 260, 40
STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
  .f { fill: #f6f8fa; stroke: #d0d7de; } .g { stroke: #d0d7de; } .t { fill: #57606a; }
  .m1 { fill: #54aeff; } .m2 { fill: #4ac26b; } .m3 { fill: #d4a72c; }
  .r { fill: none; stroke: #1f2328; stroke-width: 2; }
  .n { fill: none; stroke: #cf222e; stroke-width: 2; stroke-dasharray: 6 4; }
  .l { fill: #cf222e; opacity: 0.1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .f { fill: #161b22; stroke: #30363d; } .g { stroke: #30363d; } .t { fill: #8b949e; }
    .m1 { fill: #1f6feb; } .m2 { fill: #238636; } .m3 { fill: #9e6a03; }
    .r { stroke: #e6edf3; } .n { stroke: #ff7b72; } .l { fill: #ff7b72; }
  }
"""


def drawn(looks: list[Look]) -> str:
    """A run as an SVG: pods by cluster as areas, the template's replicas and those that the load needs as lines."""
    end, most = looks[-1].seconds, 30

    def x(seconds: float) -> float:
        return LEFT + WIDE * seconds / end

    def y(replicas: float) -> float:
        return TOP + HIGH * (1 - replicas / most)

    def steps(values: list[float]) -> str:
        points = []
        for one, value, following in zip(looks, values, [*looks[1:], looks[-1]], strict=True):
            points += [f"{x(one.seconds):.1f},{y(value):.1f}", f"{x(following.seconds):.1f},{y(value):.1f}"]
        return " ".join(points)

    parts = ['<rect class="f" x="0.5" y="0.5" width="99.9%" height="99.7%" rx="6"/>']
    parts.append(f'<rect class="l" x="{x(LOST):.1f}" y="{TOP}" width="{x(BACK) - x(LOST):.1f}" height="{HIGH}"/>')
    clusters = list(looks[0].running)
    for number in range(len(clusters), 0, -1):
        stacked = [float(sum(one.running[name] for name in clusters[:number])) for one in looks]
        corners = f"{x(end):.1f},{y(0):.1f} {x(0):.1f},{y(0):.1f}"
        parts.append(f'<polygon class="m{number}" points="{steps(stacked)} {corners}"/>')
    for replicas in range(0, most + 1, 3):
        parts.append(f'<line class="g" x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y(replicas):.1f}" y2="{y(replicas):.1f}"/>')
        parts.append(f'<text class="t" x="{LEFT - 8}" y="{y(replicas) + 4:.1f}" text-anchor="end">{replicas}</text>')
    for seconds in range(0, end + 1, 60):
        where = f'x="{x(seconds):.1f}" y="{TOP + HIGH + 18}"'
        parts.append(f'<text class="t" {where} text-anchor="middle">{seconds // 60} min</text>')
    needed = " ".join(f"{x(second):.1f},{y(amount / IDEAL):.1f}" for second, amount in PROFILE)
    parts.append(f'<polyline class="n" points="{needed}"/>')
    parts.append(f'<polyline class="r" points="{steps([float(one.replicas) for one in looks])}"/>')
    middle = (x(LOST) + x(BACK)) / 2
    parts.append(f'<text x="{middle:.1f}" y="{TOP + 16}" text-anchor="middle">member1 does not answer</text>')
    at = LEFT
    for number, name in enumerate(clusters, 1):
        parts.append(f'<rect class="m{number}" x="{at}" y="16" width="12" height="12"/>')
        parts.append(f'<text x="{at + 18}" y="27">pods in {name}</text>')
        at += 140
    parts.append(
        f'<line class="r" x1="{at}" x2="{at + 24}" y1="22" y2="22"/><text x="{at + 30}" y="27">replicas</text>'
    )
    at += 110
    text = f'<text x="{at + 30}" y="27">replicas the load needs</text>'
    parts.append(f'<line class="n" x1="{at}" x2="{at + 24}" y1="22" y2="22"/>{text}')
    size = f'width="{LEFT + WIDE + 24}" height="{TOP + HIGH + 32}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawn(closed_loop()))

"""The machine's clock jumps while a federation runs: members stay ready, and what is asked for happens."""

import pytest

from karmada.machinery.clock import LoopClock
from karmada.machinery.options import Options
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import PROBING

DAY = 86_400.0
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, labels: {{travels: "yes"}}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: travels}}
spec:
  resourceSelectors: [{{apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{travels: "yes"}}}}}}]
  placement: {{clusterAffinity: {{clusterNames: [member1]}}}}
"""


class JumpingClock(LoopClock):
    """Somebody sets the clock while time itself goes on."""

    offset = 0.0

    def now(self) -> float:
        return super().now() + self.offset


@pytest.mark.parametrize("jump", [DAY, -DAY, 3650 * DAY], ids=["a day ahead", "a day back", "ten years ahead"])
async def test_work_goes_on_after_the_clock_was_set(federation, jump):
    clock = JumpingClock()
    async with federation(members=1, options=ControlPlaneOptions(options=Options(PROBING), clock=clock)) as world:

        async def arrived(name):
            return await world.members["member1"].get("ConfigMap", name, api_version="v1")

        async def ready():
            cluster = await world.get("Cluster", "member1", api_version="cluster.karmada.io/v1alpha1")
            return next(c["status"] for c in cluster["status"]["conditions"] if c["type"] == "Ready") == "True"

        await world.apply(CONFIG.format(name="before"))
        await world.eventually(lambda: arrived("before"))
        clock.offset = jump
        await world.apply(CONFIG.format(name="after"))
        await world.eventually(lambda: arrived("after"))
        assert await ready()
        assert await arrived("before")
        clock.offset = 0.0
        await world.hub.resource((await world.hub.mapper.of_kind("v1", "ConfigMap")).type).delete("after", "default")

        async def gone():
            listing = (
                await world.members["member1"]
                .client.resource((await world.hub.mapper.of_kind("v1", "ConfigMap")).type)
                .list()
            )
            return all(item["metadata"]["name"] != "after" for item in listing.items)

        await world.eventually(gone)
        assert await ready()

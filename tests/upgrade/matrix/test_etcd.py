"""An etcd that earlier versions filled, behind a stock kube-apiserver: up, down and up again, as by the chart."""

from pathlib import Path

import pytest
from tests.upgrade.conftest import MATRIX
from tests.upgrade.plane import Plane, restored
from tests.upgrade.versions import DATA, PATIENCE, Version

from karmada.testing.stage.federation import eventually
from karmada.testing.stage.programs import missing

pytestmark = pytest.mark.tools
LARGEST = 100 << 10


def stored_versions(plane: Plane) -> dict[str, list[str]]:
    """Of every kind: the versions in which objects of it may be stored."""
    return {crd["metadata"]["name"]: crd["status"]["storedVersions"] for crd in plane.get("crds")["items"]}


async def used(plane: Plane, name: str, replicas: int) -> str:
    """Everything written before is served, and what is written now reaches the member; the uid of its Deployment."""
    await eventually(plane.ready, PATIENCE)
    assert plane.get("propagationpolicy/web")["spec"]["propagateDeps"]
    binding = plane.get("resourcebindings.v1alpha2.work.karmada.io/web-deployment")
    older = plane.get("resourcebindings.v1alpha1.work.karmada.io/web-deployment")
    assert older["metadata"]["uid"] == binding["metadata"]["uid"]
    plane.kubectl("scale", "-n", "shop", "deployment/web", f"--replicas={replicas}")
    uid = await plane.arrives(replicas)
    plane.patch("configmap/settings", {"data": {name: "yes"}})

    async def followed() -> bool:
        copy = plane.get("configmap/settings", member=True)
        return copy is not None and copy["data"].get(name) == "yes"

    await eventually(followed, PATIENCE)
    return uid


@pytest.mark.parametrize("commit", MATRIX)
async def test_an_etcd_of_an_earlier_version_goes_up_down_and_up_again(commit: str, tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    assert (DATA / f"{commit}-etcd.tar.xz").stat().st_size <= LARGEST
    plane, present = await restored(commit, tmp_path), Version.present()
    async with plane.serving():
        uid, stored = plane.get("deployment/web", member=True)["metadata"]["uid"], stored_versions(plane)
        plane.move()
        async with plane.running(present):
            assert await used(plane, "upgraded", 4) == uid
        # Where the history is missing this is as far as it goes: what was written can be used.
        earlier = Version.of(commit, tmp_path / "tree")
        async with plane.running(earlier):
            assert await used(plane, "downgraded", 5) == uid
        async with plane.running(present):
            assert await used(plane, "again", 6) == uid
            assert plane.get("configmap/settings")["data"] == {
                "colour": "blue",
                **dict.fromkeys(("upgraded", "downgraded", "again"), "yes"),
            }
        after = stored_versions(plane)
        assert {name: after[name] for name in stored} == stored

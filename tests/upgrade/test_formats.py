"""Directories that earlier versions wrote are opened, upgraded and used; and a newer one is left alone."""

from pathlib import Path

import pytest
from tests.upgrade.conftest import COMMITS
from tests.upgrade.versions import DATA, Version, eventually, kubectl, read, spread, unpack

pytestmark = pytest.mark.tools
LARGEST = 200 << 10


@pytest.mark.parametrize("commit", COMMITS)
def test_a_directory_of_an_earlier_version_is_upgraded_and_used(commit: str, tmp_path: Path) -> None:
    assert (DATA / f"{commit}.tar.xz").stat().st_size <= LARGEST
    data, present = unpack(commit, tmp_path), Version.present()
    present.karmada(data, "up", "--detach")
    try:
        assert spread(data) == {"member1": 2, "member2": 1}
        assert read(data, "configmap/settings")["data"] == {"colour": "blue"}
        kubectl(data, "scale", "-n", "shop", "deployment/web", "--replicas=6")
        eventually(lambda: spread(data) == {"member1": 4, "member2": 2})
        image = read(data, "deployment/web", "member2")["spec"]["template"]["spec"]["containers"][0]["image"]
        assert image == "registry.example.com/nginx"
    finally:
        present.karmada(data, "down")

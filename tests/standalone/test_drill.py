"""The drill: the control plane's disk is lost, and a backup brings it back beside members that never noticed."""

import os
import shutil
import signal
from pathlib import Path

import orjson
import pytest
from tests.upgrade.versions import MANIFESTS, MEMBERS, Version, eventually, kubectl, read, spread

from karmada.standalone.layout import Layout

pytestmark = pytest.mark.tools
LATE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: late, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: late}}
  template:
    metadata: {labels: {app: late}}
    spec: {containers: [{name: late, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: late, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: late}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""


def untouched(data: Path) -> dict[str, tuple[int, set[str]]]:
    """Of every Deployment in members: how often its specification was written, and its pods."""
    found: dict[str, tuple[int, set[str]]] = {}
    for member in MEMBERS:
        kinds = (
            orjson.loads(kubectl(data, "get", kind, "-n", "shop", "-o", "json", context=member))["items"]
            for kind in ("deployments", "pods")
        )
        deployments, pods = kinds
        for one in deployments:
            name = one["metadata"]["name"]
            own = {pod["metadata"]["uid"] for pod in pods if pod["metadata"]["labels"]["app"] == name}
            found[f"{member}/{name}"] = (one["metadata"]["generation"], own)
    return found


def test_a_lost_control_plane_comes_back_and_members_never_notice(tmp_path: Path) -> None:
    karmada, data, backups = Version.present().karmada, tmp_path / "federation", tmp_path / "elsewhere"
    saved, late = tmp_path / "saved.tar.gz", tmp_path / "late.yaml"
    late.write_text(LATE)
    karmada(data, "up", "--detach", "--members", "2", "--backup-every", "1h", "--backup-to", str(backups))
    try:
        eventually(lambda: list(backups.glob("karmada-*Z.tar.gz")))  # the first one is due at once
        kubectl(data, "apply", "-f", str(MANIFESTS))
        eventually(lambda: spread(data) == {"member1": 2, "member2": 1})
        acknowledged = read(data, "deployment/web")["metadata"]["uid"]
        output = karmada(data, "backup", str(saved), "--verify")
        assert "  control-plane: " in output
        assert "objects, restored and read" in output
        kubectl(data, "apply", "-f", str(late))
        eventually(lambda: "member1/late" in untouched(data))
        eventually(lambda: untouched(data)["member1/late"][1])
        before = untouched(data)
        supervisor = Layout(data).supervisor()
        assert supervisor is not None
        os.kill(supervisor, signal.SIGKILL)
        eventually(lambda: Layout(data).supervisor() is None)
    finally:
        karmada(data, "down")

    shutil.rmtree(data / "control-plane")
    karmada(data, "restore", str(saved), "--control-plane-only", "--new-ports")
    karmada(data, "up", "--detach")
    try:
        assert read(data, "deployment/web")["metadata"]["uid"] == acknowledged
        assert read(data, "configmap/settings")["data"] == {"colour": "blue"}
        eventually(lambda: (read(data, "deployment/web").get("status") or {}).get("readyReplicas") == 3)
        assert untouched(data) == before
        kubectl(data, "apply", "-f", str(late))  # what came after the backup is adopted, not made anew
        eventually(lambda: (read(data, "deployment/late").get("status") or {}).get("readyReplicas") == 1)
        assert untouched(data)["member1/late"][1] == before["member1/late"][1]
        kubectl(data, "scale", "-n", "shop", "deployment/web", "--replicas=6")
        eventually(lambda: spread(data) == {"member1": 4, "member2": 2})
    finally:
        karmada(data, "down")

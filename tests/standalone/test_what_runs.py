"""What a running control plane was started with is what its log, `simulate` and `why` show."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.standalone.test_first_contact import eventually, karmada

pytestmark = pytest.mark.tools
KARMADACTL = [sys.executable, "-c", "import sys; from karmada.cli.entry import karmadactl; sys.exit(karmadactl())"]
GATES = "Failover=true,ContextualLogging=true"
FLAGS = (
    f"--feature-gates={GATES}",
    "--enable-no-execute-taint-eviction",
    "--controllers=*,-gracefulEviction",
    "--graceful-eviction-timeout=9s",
)
WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: main, image: nginx}]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: NAME, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: NAME}]
  placement:
    clusterTolerations: TOLERATIONS
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
---
"""


class Running:
    """A federation in processes of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = ("--data", str(folder))

    def start(self) -> None:
        done = karmada("up", "--detach", "--members", "2", *self._data, *FLAGS)
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        karmada("down", *self._data)

    def log(self) -> str:
        return karmada("logs", "control-plane", *self._data).stdout

    def run(self, *words: str, stdin: str = "") -> str:
        environment = os.environ | {"KUBECONFIG": str(self.folder / "kubeconfig")}
        return subprocess.run(
            [*KARMADACTL, *words],
            env=environment,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=90,
            check=False,
        ).stdout


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_what_it_was_started_with_is_shown(running: Running) -> None:
    log = running.log()
    assert "the feature gate ContextualLogging has no effect in this version" in log
    assert "--graceful-eviction-timeout has no effect: gracefulEviction does not run" in log

    tolerant = "[{key: maintenance, operator: Exists}]"
    text = WORKLOADS.replace("NAME", "firm").replace("TOLERATIONS", tolerant)
    running.run("apply", "-f", "-", stdin=text + WORKLOADS.replace("NAME", "free").replace("TOLERATIONS", "[]"))
    for name in ("firm", "free"):
        running.run("rollout", "status", f"deployment/{name}", "--timeout=60s")
    tainted = ("simulate", "--taint", "member1:maintenance=true:NoExecute")
    result = json.loads(running.run(*tainted, "-o", "json"))
    after = {item["resource"]: item["after"] for item in result["items"]}
    assert after["Deployment default/free"] == {"member2": 2}, "the gate and the flag are those that run"
    assert after["Deployment default/firm"] == {"member1": 1, "member2": 1}, "and so are tolerations"
    assert running.run(*tainted).splitlines()[-1] == (
        "Feature gates (as the control plane runs): Failover=true. NoExecute taints evict."
    )
    without = running.run(*tainted, "--feature-gates=Failover=false").splitlines()
    assert without[-1].startswith(
        "Feature gates (as the control plane runs, changed by flags): at their defaults. NoEx"
    )

    recorded = _recorded(running)
    running.stop()
    running.start()
    assert _recorded(running) == recorded, "decisions outlive a restart"


def _recorded(running: Running) -> str:
    """The line with the time of the scheduler's decision."""

    def line() -> str:
        output = running.run("why", "deployment/free").splitlines()
        return next((line for line in output if "recorded by the scheduler at" in line), "")

    return str(eventually(line))

"""The real Helm: install, upgrade, roll back and uninstall a chart."""

import asyncio
import os

import pytest
from tests import programs
from tests.apiserver.kubectl.conftest import kubectl, server

__all__ = ["kubectl", "server"]
pytestmark = pytest.mark.tools

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.1.0\n",
    "values.yaml": "replicas: 1\n",
    "templates/objects.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: demo}, ports: [{port: 80}]}
""",
}


async def run(*command: str, **environment: str) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env={**os.environ, **environment}
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.fixture
async def helm(kubectl, tmp_path):
    """Helm with the server's kubeconfig."""
    program = programs.helm()

    async def call(*arguments: str) -> str:
        return await run(program, *arguments, KUBECONFIG=str(tmp_path / "kubeconfig"), HOME=str(tmp_path))

    return call


@pytest.fixture
def chart(tmp_path) -> str:
    for name, text in CHART.items():
        path = tmp_path / "chart" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path / "chart")


async def test_a_release_from_install_to_uninstall(helm, kubectl, chart):
    async def replicas() -> str:
        return (await kubectl("get", "deployment/demo", "-o", "jsonpath={.spec.replicas}")).out

    assert "STATUS: deployed" in await helm("install", "demo", chart)
    assert await replicas() == "1"
    await helm("upgrade", "demo", chart, "--set", "replicas=3")
    assert await replicas() == "3"
    await helm("rollback", "demo", "1")
    assert await replicas() == "1"
    history = await helm("history", "demo")
    assert [line.split()[0] for line in history.splitlines()[1:]] == ["1", "2", "3"]
    await helm("uninstall", "demo")
    assert (await kubectl("get", "deployment/demo")).code == 1

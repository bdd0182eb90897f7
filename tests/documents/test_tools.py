"""Documents 000 and 004: tools of single clusters work unchanged. Kustomize is in kubectl; Helm needs Go once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools
HELM = "helm.sh/helm/v3/cmd/helm@v3.18.4"
TOOLS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karmada-tools"

KUSTOMIZATION = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [nginx-deployment.yaml, propagation-policy.yaml]
replicas: [{name: nginx, count: 2}]
images: [{name: nginx, newTag: "1.27"}]
"""


def test_kustomize_applies_and_changes_nothing_the_second_time(documents, tmp_path):
    (tmp_path / "nginx-deployment.yaml").write_text(documents.manifest("000-02"))
    (tmp_path / "propagation-policy.yaml").write_text(documents.manifest("000-03"))
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    documents.kubectl("apply", "-k", str(tmp_path))
    documents.eventually(documents.placement, {"member1": 2, "member2": 2})
    documents.eventually(
        lambda: documents.get("deployment", "nginx", context="member1")["spec"]["template"]["spec"]["containers"][0][
            "image"
        ],
        "nginx:1.27",
    )
    version = documents.get("deployment", "nginx")["metadata"]["generation"]
    assert "deployment.apps/nginx unchanged" in documents.kubectl("apply", "-k", str(tmp_path))
    assert documents.get("deployment", "nginx")["metadata"]["generation"] == version
    documents.kubectl("delete", "-k", str(tmp_path))


@pytest.fixture(scope="session")
def helm() -> str:
    """Helm from PATH, from the cache of tools, or built into it once."""
    found = shutil.which("helm") or shutil.which("helm", path=str(TOOLS))
    if found:
        return found
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go: Helm is built from its module")
    TOOLS.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(TOOLS), "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "install", HELM], env=environment, check=True, timeout=900)
    return str(TOOLS / "helm")


CHART = """
apiVersion: v2
name: shop
version: 0.1.0
"""


def test_helm_installs_upgrades_rolls_back_and_uninstalls(documents, helm, tmp_path):
    templates = tmp_path / "templates"
    templates.mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART)
    (tmp_path / "values.yaml").write_text("replicas: 1\n")
    replicas = {"replicas: 1": "replicas: {{ .Values.replicas }}"}
    (templates / "deployment.yaml").write_text(documents.manifest("000-02", replicas))
    (templates / "policy.yaml").write_text(documents.manifest("000-03"))
    chart = str(tmp_path)
    documents.run(helm, "install", "shop", chart)
    documents.eventually(documents.placement, {"member1": 1, "member2": 1})
    documents.run(helm, "upgrade", "shop", chart, "--set", "replicas=3")
    documents.eventually(documents.placement, {"member1": 3, "member2": 3})
    documents.run(helm, "rollback", "shop", "1")
    documents.eventually(documents.placement, {"member1": 1, "member2": 1})
    documents.run(helm, "uninstall", "shop")
    missing = ("--context", "member1", "get", "deployment", "nginx", "--ignore-not-found")
    documents.eventually(lambda: documents.kubectl(*missing) == "")

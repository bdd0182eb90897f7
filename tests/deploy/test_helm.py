"""The chart by the real Helm, and every object by the published schemas of Kubernetes."""

import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests import programs

from karmada.install.certificates import certificates
from karmada.install.chart import CHART, default_values, render

KUBERNETES = "1.36"
VARIANTS: dict[str, tuple[str, ...]] = {"first look": (), "high availability": ("values-ha.yaml",)}
variants = pytest.mark.parametrize("files", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture(scope="session")
def helm() -> str:
    return programs.helm()


def by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    found = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    assert len(found) == len(objects)
    return found


@pytest.mark.tools
@variants
def test_helm_renders_what_we_render(helm: str, files: tuple[str, ...], tmp_path: Path) -> None:
    values = [f"--values={CHART / name}" for name in files]
    command = [helm, "template", "karmada", str(CHART), "--namespace=karmada-system", f"--kube-version={KUBERNETES}.0"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    outcome = subprocess.run([*command, *values], env=environment, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    written = [document for document in yaml.safe_load_all(outcome.stdout) if document]
    assert by_name(written) == by_name(render(default_values(*files)))


@pytest.mark.tools
def test_helm_refuses_values_that_the_chart_does_not_have(helm: str, tmp_path: Path) -> None:
    command = [helm, "template", "karmada", str(CHART), "--set=apiserver.replcas=3", "--set=imageRegistri=here"]
    outcome = subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert outcome.returncode == 1
    assert "values don't meet the specifications of the schema" in outcome.stderr
    assert "replcas" in outcome.stderr
    assert "imageRegistri" in outcome.stderr


@pytest.mark.tools
def test_helm_finds_nothing_to_complain_about(helm: str, tmp_path: Path) -> None:
    command = [helm, "lint", "--strict", str(CHART)]
    outcome = subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout


@variants
def test_objects_on_the_host_follow_the_published_schemas(files: tuple[str, ...]) -> None:
    values = default_values(*files)
    for component in values["components"].values():
        component["enabled"] = True
    secrets, _ = certificates("karmada-system", values["clusterDomain"], values["etcd"]["members"])
    for obj in [*render(values), *secrets]:
        kubernetes_validate.validate(obj, KUBERNETES, strict=True)

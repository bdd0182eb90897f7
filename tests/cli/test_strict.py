"""Objects with misspelt fields: refused, with the place of the mistake and what was probably meant."""

import re
from pathlib import Path

import pytest
from tests.cli.world import World

POLICY = """\
# Two clusters.
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: misspelt}
spec:
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    nmae: web
  placement:
    clusterAffinty:
      clusterNames: [member1]
"""
RIGHT = POLICY.replace("nmae", "name").replace("clusterAffinty", "clusterAffinity")
LINES = (
    ':12: unknown field "spec.placement.clusterAffinty" (did you mean clusterAffinity?)',
    ':10: unknown field "spec.resourceSelectors[0].nmae" (did you mean name?)',
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.mark.parametrize("words", [["apply"], ["create"], ["apply", "--server-side"], ["apply", "--dry-run=client"]])
def test_a_misspelt_field_is_refused_with_file_line_and_the_nearest_one(
    federation: World, file: Path, words: list[str]
) -> None:
    space = federation.namespace()
    outcome = federation.run(*words, "-f", str(file), "-n", space)
    assert (outcome.code, outcome.out) == (1, "")
    for line in LINES:
        assert f"{file}{line}" in outcome.err
    assert federation.run("get", "propagationpolicy", "-n", space).out == ""


def test_a_misspelt_field_is_refused_where_the_object_exists(federation: World, file: Path) -> None:
    space = federation.namespace()
    file.write_text(RIGHT)
    assert federation.run("apply", "-f", str(file), "-n", space).code == 0
    file.write_text(RIGHT.replace("clusterAffinity", "clusterAffinty"))
    outcome = federation.run("apply", "-f", str(file), "-n", space)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{file}{LINES[0]}" in outcome.err


def test_what_is_wrong_in_a_list_of_objects_is_found(federation: World, tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    file.write_text(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: wrong\n  dta: {}\n"
    )
    space = federation.namespace()
    outcome = federation.run("create", "-f", str(file), "-n", space)
    assert (outcome.code, outcome.out) == (1, "configmap/fine created\n")
    assert f'{file}:9: unknown field "dta" (did you mean data?)' in outcome.err


def test_simulations_are_as_strict(federation: World, file: Path) -> None:
    outcome = federation.run("simulate", "-f", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "".join(f"error: {file}{line}\n" for line in reversed(LINES))
    assert "unknown field" not in federation.run("simulate", "-f", str(file), "--validate=ignore").err


def test_warnings_are_neither_cut_nor_escaped(federation: World, file: Path) -> None:
    outcome = federation.run("apply", "-f", str(file), "-n", federation.namespace(), "--validate=warn")
    assert outcome.code == 0, outcome.err
    assert 'Warning: unknown field "spec.placement.clusterAffinty"\n' in outcome.err


def test_a_policy_that_selects_nothing_is_refused_with_a_sentence(federation: World, file: Path) -> None:
    file.write_text(re.sub(r"  resourceSelectors:\n(  [- ] .*\n)+", "", RIGHT))
    outcome = federation.run("simulate", "-f", str(file))
    assert outcome.code == 1
    assert outcome.err == "error: PropagationPolicy misspelt would be refused: spec.resourceSelectors: Required value\n"


def test_a_policy_of_the_wrong_shape_is_refused_with_a_sentence(federation: World, file: Path) -> None:
    file.write_text(RIGHT.replace("clusterNames: [member1]", "clusterNames: member1"))
    outcome = federation.run("simulate", "-f", str(file))
    assert outcome.code == 1
    assert outcome.err.startswith("error: PropagationPolicy misspelt would be refused: ")
    assert outcome.err.endswith(": $.spec.placement.clusterAffinity.clusterNames: expected array, got str\n")

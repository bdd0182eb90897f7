import json
from pathlib import Path

import pytest

from karmada.apiserver.auth.defaults import default_objects, plan

GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "kube" / "auth.jsonl"


def cases():
    if not GOLDEN.exists():
        return []
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [line for line in lines if line["case"].startswith("default-")]


@pytest.mark.golden
@pytest.mark.skipif(not GOLDEN.exists(), reason="needs ../shared/golden/kube")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["path"].rpartition("/")[2])
def test_defaults_are_those_recorded(case):
    objects = {(resource, obj["metadata"]["name"]): obj for resource, obj in default_objects()}
    resource, name = case["path"].split("/")[-2:]
    obj = objects[(resource, name)]
    for field in case["select"]:
        value = obj
        for part in field.split("."):
            value = value.get(part) if value else None
        assert value == case["expect"]["body"][field.split(".")[0] if field not in case["expect"]["body"] else field]


def test_everything_absent_is_planned_and_nothing_present():
    writes = plan(lambda resource, namespace, name: None)
    stored = {(w.resource, w.obj["metadata"].get("namespace", ""), w.obj["metadata"]["name"]): w.obj for w in writes}
    assert len(stored) == len(writes) == len(default_objects())
    assert plan(lambda *key: stored[key]) == []


def test_lost_rules_and_subjects_come_back_and_additions_stay():
    stored = {(r, o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for r, o in default_objects()}
    role = stored[("clusterroles", "", "system:basic-user")]
    role["rules"] = [{"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"]}, role["rules"][0]]
    binding = stored[("clusterrolebindings", "", "system:discovery")]
    binding["subjects"] = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mine"}]
    ignored = stored[("clusterroles", "", "system:discovery")]
    ignored["rules"] = []
    ignored["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] = "false"
    writes = {w.obj["metadata"]["name"]: w.obj for w in plan(lambda *key: stored[key])}
    assert sorted(writes) == ["system:basic-user", "system:discovery"]
    assert writes["system:basic-user"]["rules"][0]["apiGroups"] == ["x"]
    assert writes["system:basic-user"]["rules"][-1]["resources"] == ["selfsubjectreviews"]
    assert [s["name"] for s in writes["system:discovery"]["subjects"]] == ["mine", "system:authenticated"]

"""What members say of a Deployment's past, and whose word counts when the past is to run again."""

import json
from pathlib import Path

from tests.cli.world import World

from karmada.api import yaml


def template(image: str) -> dict[str, object]:
    labels = {"app": "web"}
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}


def forged(space: str, owner: str) -> str:
    """A ReplicaSet that a member claims to have kept from before the first revision."""
    by = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner, "controller": True}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template("evil:1")}
    metadata = {"name": "web-0", "namespace": space, "ownerReferences": [by]}
    return yaml.dump({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})


def test_what_one_member_alone_says_of_the_past_does_not_run_in_others(federation: World, tmp_path: Path) -> None:
    space = federation.namespace()
    workload = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx:1")}
    where = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]
    trees = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": workload},
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "spec": {"resourceSelectors": selectors, "placement": where},
        },
    ]
    for number, tree in enumerate(trees):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({**tree, "metadata": {"name": "web", "namespace": space}}))
        assert federation.run("apply", "-f", str(file)).code == 0
    history = ["rollout", "history", "deployment/web", "-n", space]
    federation.eventually(lambda: federation.run(*history).out.count("nginx:1") == 2)
    there = ["--kubeconfig", federation.member_config("member2")]
    owner = federation.run("get", "deployment", "web", "-n", space, "-o", "jsonpath={.metadata.uid}", *there).out
    file = tmp_path / "forged.yaml"
    file.write_text(forged(space, owner))
    assert federation.run("create", "-f", str(file), *there).code == 0

    outcome = federation.run("rollout", "undo", "deployment/web", "-n", space)
    assert outcome.code == 1
    assert outcome.err.startswith("error: member1 has not had revision 0 of member2, which would run there: ")
    named = federation.run("rollout", "undo", "deployment/web", "-n", space, "-C", "member2", "--dry-run=client")
    assert named.out == "deployment.apps/web rolled back to revision 0 of member2 (dry run)\n"

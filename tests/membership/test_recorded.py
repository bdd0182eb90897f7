"""Joining and registering leave the objects that were recorded from the reference, apart from what is stricter here."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.membership.test_pull import Pull
from tests.membership.test_pull import pull as pull
from tests.membership.world import World, eventually

from karmada.api.annotations import COMPONENT_VERSION
from karmada.machinery.client import Client
from karmada.membership import objects
from karmada.membership.agent_grant import EVERYTHING
from karmada.membership.join import join
from karmada.membership.register import Registration, deployment

RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "pull"
OTHERS = {"kube-root-ca.crt", "default"}
"""Made by Kubernetes' own controllers where pods run."""
ELSEWHERE = ("Deployment", "CertificateSigningRequest")
"""Compared by tests of their own."""
AGENTS_ROLES = "system:karmada:member3:agent"
STRICTER = {"ClusterRole system:karmada:member3:agent", "Role karmada-cluster/system:karmada:member3:agent-secret"}
STRICTER |= {"Role karmada-es-member3/system:karmada:member3:agent-work"}


def recorded(folder: str, step: str) -> dict[str, Any]:
    path = RECORDED / folder / "trace" / step
    if not path.exists():
        pytest.skip("needs ../shared/golden/pull")
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def comparable(tree: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What of an object can be compared: names, marks, owners, and what it says."""
    metadata = tree["metadata"]
    kept: dict[str, Any] = {
        "labels": sorted(k for k in metadata.get("labels") or {} if k != "kubernetes.io/legacy-token-last-used"),
        "finalizers": metadata.get("finalizers") or [],
        "annotations": sorted(
            k
            for k in metadata.get("annotations") or {}
            if k != COMPONENT_VERSION and not k.startswith("agent.karmada.io/")
        ),
        "owners": [{k: v for k, v in o.items() if k != "uid"} for o in metadata.get("ownerReferences") or []],
    }
    kind = tree["kind"]
    if kind == "Cluster":
        spec = dict(tree["spec"])
        spec["id"] = spec["apiEndpoint"] = "set"
        kept["spec"] = spec
        kept["generation"] = metadata["generation"]
        kept["conditions"] = sorted((c["type"], c["reason"], c["message"]) for c in tree["status"]["conditions"])
    if kind == "Secret":
        kept["data"], kept["type"] = sorted(tree["data"]), tree["type"]
    if kind in ("ClusterRole", "Role") and known["metadata"]["name"] != "karmada-impersonator":
        kept["rules"] = tree["rules"]
    for part in ("roleRef", "subjects"):
        # An agent's roles are bound to its registration, in the reference to its name.
        if part in known and (part != "subjects" or not known["metadata"]["name"].startswith(AGENTS_ROLES)):
            kept[part] = tree.get(part)
    if kind == "Lease":
        kept["spec"] = sorted(tree["spec"])
    if kind == "Work":
        manifest = tree["spec"]["workload"]["manifests"][0]
        kept["manifest"] = comparable(manifest, manifest)
        kept["status"] = [(c["type"], c["status"], c["reason"]) for c in tree["status"]["conditions"]]
    return kept


async def live(client: Client, known: dict[str, Any]) -> dict[str, Any]:
    served = await client.mapper.of_kind(known["apiVersion"], known["kind"])
    metadata = known["metadata"]
    return await client.resource(served.type).get(metadata["name"], metadata.get("namespace", ""))


async def compare(client: Client, known_objects: dict[str, Any], leave: set[str]) -> int:
    """Compare every recorded object with the live one; how many there were."""
    compared = 0
    for title, known in known_objects.items():
        name = known["metadata"]["name"]
        short = f"{known['kind']} {title.partition(' ')[2]}"
        if name in OTHERS or "<" in name or short in leave or known["kind"] in ELSEWHERE:
            continue

        async def same(known: dict[str, Any] = known, title: str = title) -> bool:
            assert comparable(await live(client, known), known) == comparable(known, known), title
            return True

        await eventually(same, attempts=300)
        compared += 1
    return compared


async def test_joining_leaves_what_was_recorded(world: World) -> None:
    trace = recorded("push-join", "01-join.yaml")
    member = await world.member("member1")
    await join(member.client, world.hub, member.describe())
    await world.ready("member1")
    assert await compare(world.hub, trace["karmada"], set()) == 6
    assert await compare(member.client, trace["members"]["member1"], set()) == 9


async def test_registering_leaves_what_was_recorded(pull: Pull) -> None:
    trace = recorded("pull-register", "02-register.yaml")
    member = await pull.world.member("member3")
    await pull.register(member, EVERYTHING, provider="beta", region="south", zones=("south-1",))
    await pull.world.ready("member3")
    assert await compare(pull.world.hub, trace["karmada"], STRICTER) == 10
    assert await compare(member.client, trace["members"]["member3"], set()) == 14


async def test_an_installation_holds_what_was_recorded_but_for_unlimited_rights(pull: Pull) -> None:
    """What people may do with Karmada's kinds is stricter as well, see test_people."""
    trace = recorded("pull-register", "00-before.yaml")
    unlimited = {f"{kind} system:karmada:agent-rbac-generator" for kind in ("ClusterRole", "ClusterRoleBinding")}
    kept = {t: o for t, o in trace["karmada"].items() if o["kind"] not in ("APIService", "ConfigMap")}
    people = {"ClusterRole karmada-edit", "ClusterRole karmada-view"}
    assert await compare(pull.world.hub, kept, unlimited | people) == 14
    roles = (await pull.world.hub.resource(objects.CLUSTER_ROLES).list()).items
    rules = {role["metadata"]["name"]: role["rules"] for role in roles}
    assert "system:karmada:agent-rbac-generator" not in rules
    for title in people:
        known = trace["karmada"][title.replace(" ", ".rbac.authorization.k8s.io ", 1)]
        wanted = [rule for rule in known["rules"] if rule["apiGroups"] != ["work.karmada.io"]]
        found = [rule for rule in rules[known["metadata"]["name"]] if rule["apiGroups"] != ["work.karmada.io"]]
        assert found == wanted


def test_the_agent_is_deployed_as_recorded() -> None:
    trace = recorded("pull-register", "02-register.yaml")
    known = trace["members"]["member3"]["Deployment.apps karmada-system/karmada-agent"]
    fields = {"provider": "beta", "region": "south", "zones": ("south-1",), "api_endpoint": "<endpoint>"}
    ours = deployment(Registration("hub", "token", "member3", **fields))
    mine, theirs = (tree["spec"]["template"]["spec"] for tree in (ours, known))
    assert mine["containers"][0]["command"] == theirs["containers"][0]["command"]
    assert mine["containers"][0]["volumeMounts"] == theirs["containers"][0]["volumeMounts"]
    assert mine["containers"][0]["ports"] == theirs["containers"][0]["ports"]
    assert mine["tolerations"] == theirs["tolerations"]
    assert mine["serviceAccountName"] == theirs["serviceAccountName"]
    assert ours["metadata"]["labels"] == known["metadata"]["labels"]

"""From a Karmada object to the objects of the host cluster: names, overrides, flavours, budgets, external etcd."""

import datetime
from typing import Any

import pytest

from karmada.api.codec import from_tree
from karmada.api.operator.v1alpha1 import Karmada
from karmada.api.version import IMAGE
from karmada.apiserver.auth.pki import Authority
from karmada.install.certificates import AUTHORITIES, Issuer
from karmada.operator.host import differs, is_ready, marked
from karmada.operator.overrides import MOUNTED, image_of
from karmada.operator.plan import RUNNING, Plan, plan, wanted_leaves
from karmada.operator.secrets import is_good

SPACE = "karmadas"
NOW = datetime.datetime.now(datetime.UTC)


def karmada(name: str = "demo", annotations: dict[str, str] | None = None, **spec: Any) -> Karmada:
    metadata = {"name": name, "namespace": SPACE, "annotations": annotations or {}}
    tree = {"apiVersion": "operator.karmada.io/v1alpha1", "kind": "Karmada", "metadata": metadata, "spec": spec}
    return from_tree(tree, Karmada)


def components(**given: Any) -> dict[str, Any]:
    return {"components": {"etcd": {"local": {}}, **given}}


def planned(wanted: Karmada) -> Plan:
    return plan(wanted, IMAGE)


def workloads(made: Plan) -> dict[str, dict[str, Any]]:
    return {tree["metadata"]["name"]: tree for tree in made.everything if tree["kind"] in RUNNING}


def container(made: Plan, name: str) -> dict[str, Any]:
    found: dict[str, Any] = workloads(made)[name]["spec"]["template"]["spec"]["containers"][0]
    return found


EMBEDDED = {"operator.karmada.io/flavour": "embedded"}


@pytest.mark.parametrize(
    ("instance", "prefix"), [("demo", "demo-karmada"), ("karmada-demo", "karmada-demo"), ("my-karmada", "my-karmada")]
)
def test_names_follow_the_rule_of_karmadas_operator(instance: str, prefix: str) -> None:
    suffixes = ("etcd", "apiserver", "aggregated-apiserver", "kube-controller-manager", "controller-manager")
    more = ("scheduler", "webhook", "metrics-adapter")
    made = planned(karmada(instance))
    assert set(workloads(made)) == {f"{prefix}-{suffix}" for suffix in (*suffixes, *more)}
    services = {tree["metadata"]["name"] for tree in made.everything if tree["kind"] == "Service"}
    called = ("apiserver", "etcd", "etcd-client", "aggregated-apiserver", "webhook", "metrics-adapter")
    assert services == {f"{prefix}-{suffix}" for suffix in called}


@pytest.mark.parametrize("annotations", [{}, EMBEDDED], ids=["engine", "embedded"])
def test_instances_of_one_namespace_share_nothing(annotations: dict[str, str]) -> None:
    one, other = (planned(karmada(name, annotations)) for name in ("one", "other"))
    names = [{(tree["kind"], tree["metadata"]["name"]) for tree in made.everything} for made in (one, other)]
    assert not names[0] & names[1]
    assert not one.mounted & other.mounted
    for tree in one.everything:
        assert tree["metadata"]["namespace"] == SPACE
        assert tree["metadata"]["labels"]["app.kubernetes.io/instance"] == "one"
        assert tree["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "karmada-operator"
        spec = tree.get("spec") or {}
        selector = spec.get("selector") or {"app.kubernetes.io/instance": "one"}
        assert selector.get("matchLabels", selector)["app.kubernetes.io/instance"] == "one", tree
        if tree["kind"] in RUNNING:
            labels = spec["template"]["metadata"]["labels"]
            assert labels.items() >= spec["selector"]["matchLabels"].items()


@pytest.mark.parametrize("annotations", [{}, EMBEDDED], ids=["engine", "embedded"])
def test_every_mounted_secret_is_made_by_the_operator(annotations: dict[str, str]) -> None:
    wanted = karmada("demo", annotations, **components(karmadaDescheduler={}, karmadaMetricsAdapter={}))
    made = {leaf.secret for leaf in wanted_leaves(wanted, (), "")}
    others = {"demo-karmada-ca", "demo-karmada-ca-key", "demo-karmada-service-account-key"}
    assert planned(wanted).mounted <= made | others


def test_the_keys_of_authorities_are_mounted_by_the_one_that_signs_alone() -> None:
    made = planned(karmada())
    holders = {
        name
        for name, tree in workloads(made).items()
        for volume in tree["spec"]["template"]["spec"]["volumes"]
        if (volume.get("secret") or {}).get("secretName") in ("demo-karmada-ca-key", "demo-karmada-cert")
    }
    assert holders == {"demo-karmada-kube-controller-manager"}


def test_addresses_in_flags_are_those_of_the_instance() -> None:
    made = planned(karmada())
    etcd = container(made, "demo-karmada-etcd")["command"]
    member = "demo-karmada-etcd-0=https://demo-karmada-etcd-0.demo-karmada-etcd.karmadas.svc.cluster.local:2380"
    assert f"--initial-cluster={member}" in etcd
    for server in ("apiserver", "aggregated-apiserver"):
        command = container(made, f"demo-karmada-{server}")["command"]
        assert "--etcd-servers=https://demo-karmada-etcd-client.karmadas.svc:2379" in command
    issuer = "--service-account-issuer=https://kubernetes.default.svc.cluster.local"
    assert issuer in container(made, "demo-karmada-apiserver")["command"]


def test_a_component_is_as_its_settings_say() -> None:
    fields = {
        "imageRepository": "mirror.example.com/karmada",
        "imageTag": "v9",
        "imagePullPolicy": "Always",
        "replicas": 3,
        "labels": {"team": "platform", "app.kubernetes.io/instance": "stolen"},
        "annotations": {"note": "here"},
        "resources": {"requests": {"cpu": "250m"}},
        "priorityClassName": "mine",
        "podDisruptionBudgetConfig": {"minAvailable": 2},
        "tolerations": [{"key": "edge", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "extraArgs": {"metrics-bind-address": ":9090", "v": "4"},
        "featureGates": {"Failover": True},
        "controllers": ["*", "-binding"],
    }
    spec = components(karmadaControllerManager=fields) | {"featureGates": {"Failover": False, "PolicyPreemption": True}}
    made = planned(karmada(**spec))
    tree = workloads(made)["demo-karmada-controller-manager"]
    pod, main = tree["spec"]["template"]["spec"], container(made, "demo-karmada-controller-manager")
    assert (tree["spec"]["replicas"], main["image"], main["imagePullPolicy"]) == (
        3,
        "mirror.example.com/karmada:v9",
        "Always",
    )
    assert tree["spec"]["template"]["metadata"]["labels"]["team"] == "platform"
    assert tree["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/instance"] == "demo"
    assert tree["spec"]["template"]["metadata"]["annotations"]["note"] == "here"
    assert main["resources"] == {"requests": {"cpu": "250m"}}
    assert pod["priorityClassName"] == "mine"
    assert pod["tolerations"] == [{"key": "edge", "operator": "Exists"}]
    assert pod["affinity"] == {"nodeAffinity": {}}
    flags = [word for word in main["command"] if word.partition("=")[0] in ("--metrics-bind-address", "--v")]
    assert flags == ["--metrics-bind-address=:9090", "--v=4"]
    assert "--feature-gates=Failover=true,PolicyPreemption=true" in main["command"]
    assert "--controllers=*,-binding" in main["command"]
    (budget,) = [one for one in made.everything if one["kind"] == "PodDisruptionBudget"]
    assert budget["metadata"]["name"] == tree["metadata"]["name"]
    assert budget["spec"] == {"minAvailable": 2, "selector": tree["spec"]["selector"]}


def test_the_api_server_gets_volumes_sidecars_and_its_service() -> None:
    fields = {
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "sidecarContainers": [{"name": "beside", "image": "proxy"}],
        "serviceType": "LoadBalancer",
        "loadBalancerClass": "example.com/inner",
        "serviceAnnotations": {"inner": "yes"},
        "serviceSubnet": "10.0.0.0/16",
    }
    made = planned(karmada(**components(karmadaAPIServer=fields)))
    pod = workloads(made)["demo-karmada-apiserver"]["spec"]["template"]["spec"]
    assert [one["name"] for one in pod["containers"]] == ["karmada-apiserver", "beside"]
    assert pod["volumes"][-1] == {"name": "more", "emptyDir": {}}
    assert "--service-cluster-ip-range=10.0.0.0/16" in pod["containers"][0]["command"]
    (service,) = [one for one in made.server if one["kind"] == "Service"]
    assert (service["spec"]["type"], service["spec"]["loadBalancerClass"]) == ("LoadBalancer", "example.com/inner")
    assert service["metadata"]["annotations"] == {"inner": "yes"}


def test_an_etcd_elsewhere_is_used_with_its_owners_secret_and_none_is_run() -> None:
    external = {"endpoints": ["https://a:2379", "https://b:2379"], "secretRef": {"name": "demo-karmada-etcd-cert"}}
    wanted = karmada(components={"etcd": {"external": external}})
    made = planned(wanted)
    assert not made.store
    for server in ("apiserver", "aggregated-apiserver"):
        command = container(made, f"demo-karmada-{server}")["command"]
        assert "--etcd-servers=https://a:2379,https://b:2379" in command
    assert "demo-karmada-etcd-cert" in made.mounted
    assert not {leaf.secret for leaf in wanted_leaves(wanted, (), "")} & {
        "demo-karmada-etcd-cert",
        "demo-karmada-etcd-client-cert",
    }


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"volumeClaim": {"spec": {"accessModes": ["ReadWriteOnce"]}}}, "claim", {"accessModes": ["ReadWriteOnce"]}),
        ({"hostPath": {"path": "/data"}}, "volume", {"name": "data", "hostPath": {"path": "/data"}}),
        ({"emptyDir": {}}, "volume", {"name": "data", "emptyDir": {}}),
    ],
)
def test_etcd_keeps_its_data_where_it_is_said(given: dict[str, Any], field: str, value: Any) -> None:
    made = planned(karmada(components={"etcd": {"local": {"volumeData": given, "replicas": 3}}}))
    spec = workloads(made)["demo-karmada-etcd"]["spec"]
    assert spec["replicas"] == 3
    claims = [one["spec"] for one in spec.get("volumeClaimTemplates", ())]
    assert (claims if field == "claim" else spec["template"]["spec"]["volumes"])[-1] == value
    assert bool(claims) == (field == "claim")


def test_the_embedded_flavour_keeps_its_objects_in_a_volume_and_has_nothing_of_kubernetes() -> None:
    made = planned(karmada("demo", EMBEDDED))
    assert not made.store
    tree = workloads(made)["demo-karmada-apiserver"]
    assert tree["kind"] == "StatefulSet"
    assert tree["spec"]["volumeClaimTemplates"]
    assert {one["spec"]["template"]["spec"]["containers"][0]["image"] for one in workloads(made).values()} == {IMAGE}
    assert "demo-karmada-kube-controller-manager" not in workloads(made)


def test_a_private_registry_is_before_all_default_images() -> None:
    made = planned(karmada(privateRegistry={"registry": "mirror.example.com:5000/k8s"}))
    for tree in workloads(made).values():
        assert tree["spec"]["template"]["spec"]["containers"][0]["image"].startswith("mirror.example.com:5000/k8s/")


@pytest.mark.parametrize(
    ("default", "repository", "tag", "image"),
    [
        ("karmada:1", "", "", "karmada:1"),
        ("host:5000/karmada:1", "", "2", "host:5000/karmada:2"),
        ("karmada:1", "other", "", "other:1"),
        ("karmada:1", "", "sha256:abc", "karmada@sha256:abc"),
        ("karmada@sha256:abc", "", "", "karmada@sha256:abc"),
    ],
)
def test_images(default: str, repository: str, tag: str, image: str) -> None:
    assert image_of(default, repository, tag) == image


def test_a_renewed_certificate_rolls_those_that_mount_it() -> None:
    before, after = (
        planned(karmada()).with_digests({"demo-karmada-webhook-cert": digest, "demo-karmada-scheduler-config": "same"})
        for digest in ("old", "new")
    )
    changed = {name for name, tree in workloads(after).items() if tree != workloads(before)[name]}
    assert changed == {"demo-karmada-webhook"}
    pod = workloads(after)["demo-karmada-webhook"]["spec"]["template"]["metadata"]
    assert pod["annotations"][MOUNTED] == "demo-karmada-webhook-cert=new"


def test_certificates_are_good_while_they_fit_and_last() -> None:
    authorities = {name: Authority.create(name) for name in AUTHORITIES}
    issue, wanted = Issuer(SPACE), karmada(**components(karmadaAPIServer={"certSANs": ["karmada.example.com"]}))
    leaves = wanted_leaves(wanted, (), "")
    for leaf in leaves:
        made, authority = issue.leaf(leaf, authorities[leaf.authority]), authorities[leaf.authority]
        assert is_good(made, leaf, authority, NOW), leaf
        assert not is_good(made, leaf, authority, NOW + datetime.timedelta(days=250)), leaf
        assert not is_good(made, leaf, Authority.create(leaf.authority), NOW), leaf
        if leaf.hosts:
            assert not is_good(made, leaf._replace(hosts=[*leaf.hosts, "another.example.com"]), authority, NOW)
        if leaf.config:
            assert not is_good(made, leaf._replace(server="https://elsewhere:5443"), authority, NOW)
    (server,) = [leaf for leaf in leaves if leaf.secret == "demo-karmada-apiserver-cert"]
    assert "karmada.example.com" in server.hosts


def test_an_object_is_applied_when_something_is_changed_or_was_left_out() -> None:
    wanted = {"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"replicas": 1, "list": [{"name": "c"}]}}
    served = marked(wanted) | {"spec": {"replicas": 1, "list": [{"name": "c", "defaulted": True}], "more": 1}}
    assert not differs(marked(wanted), served)
    assert differs(marked(wanted), None)
    assert differs(marked(wanted), served | {"spec": {"replicas": 2, "list": [{"name": "c"}]}})
    assert differs(marked({**wanted, "metadata": {"name": "a"}}), served)


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({}, False),
        ({"observedGeneration": 2, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2}, True),
        ({"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2}, False),
        ({"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 2}, False),
        ({"observedGeneration": 2, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 1}, False),
    ],
)
def test_a_workload_is_ready_when_all_of_it_runs_in_its_newest_form(status: dict[str, int], ready: bool) -> None:
    assert is_ready({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}) is ready


def test_search_keeps_its_registries_in_the_instance_s_etcd_or_in_the_one_that_is_given() -> None:
    own = container(planned(karmada(**components(karmadaSearch={}))), "demo-karmada-search")["command"]
    assert f"--etcd-servers=https://demo-karmada-etcd-client.{SPACE}.svc:2379" in own
    given = {"endpoints": ["https://elsewhere:2379"], "secretRef": {"name": "theirs"}}
    spec = {"components": {"etcd": {"external": given}, "karmadaSearch": {}}}
    made = planned(karmada(**spec))
    assert "--etcd-servers=https://elsewhere:2379" in container(made, "demo-karmada-search")["command"]
    assert "theirs" in made.mounted


def test_search_of_the_embedded_flavour_has_a_volume() -> None:
    made = planned(karmada(annotations=EMBEDDED, **components(karmadaSearch={})))
    found = workloads(made)["demo-karmada-search"]
    assert found["kind"] == "StatefulSet"
    assert [one["metadata"]["name"] for one in found["spec"]["volumeClaimTemplates"]] == ["data"]
    assert any(
        word.startswith("--storage=sqlite:///var/lib/karmada/")
        for word in container(made, "demo-karmada-search")["command"]
    )


@pytest.mark.parametrize("annotations", [{}, EMBEDDED], ids=["engine", "embedded"])
def test_what_the_api_server_calls_is_reached_by_the_instance_s_api_server_only(annotations: dict[str, str]) -> None:
    made = planned(karmada(annotations=annotations, **components(karmadaSearch={}, karmadaMetricsAdapter={})))
    policies = {one["metadata"]["name"]: one["spec"] for one in made.everything if one["kind"] == "NetworkPolicy"}
    own = {"app.kubernetes.io/name": "karmada-apiserver", "app.kubernetes.io/instance": "demo"}
    for part, port in (("aggregated-apiserver", 4443), ("metrics-adapter", 4443), ("search", 4443), ("webhook", 8443)):
        (rule,) = [
            one
            for one in policies[f"demo-karmada-{part}"]["ingress"]
            if port in [each["port"] for each in one["ports"]]
        ]
        assert rule["from"] == [{"podSelector": {"matchLabels": own}}], part


@pytest.mark.parametrize("annotations", [{}, EMBEDDED], ids=["engine", "embedded"])
def test_what_nobody_calls_is_reached_for_its_metrics_only(annotations: dict[str, str]) -> None:
    made = planned(karmada(annotations=annotations, **components(karmadaDescheduler={})))
    policies = {one["metadata"]["name"]: one["spec"] for one in made.everything if one["kind"] == "NetworkPolicy"}
    for part in ("controller-manager", "descheduler", "scheduler"):
        policy = policies[f"demo-karmada-{part}"]
        own = {"app.kubernetes.io/name": f"karmada-{part}", "app.kubernetes.io/instance": "demo"}
        assert policy["podSelector"] == {"matchLabels": own}
        assert policy["ingress"] == [{"ports": [{"port": 8080, "protocol": "TCP"}]}], part

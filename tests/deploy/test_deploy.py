"""What is installed on a host cluster: the chart, its plain manifests, Secrets, rights, the image."""

import base64
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from karmada.api.version import IMAGE, VERSION
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.cli.manifests import main
from karmada.controllers.flags import parser as controller_manager
from karmada.dashboard.main import parser as dashboard
from karmada.descheduler.main import parser as descheduler
from karmada.gateway.main import parser as gateway
from karmada.install.certificates import certificates
from karmada.install.chart import CHART, ChartError, default_values, merge, render, template_names
from karmada.install.control_plane import control_plane
from karmada.install.manifests import Installation, components
from karmada.install.parts import PARTS
from karmada.install.parts import component as part_of
from karmada.install.values_schema import values_schema
from karmada.machinery.client import Client
from karmada.machinery.transport import Request, Verb
from karmada.membership.component_roles import rights
from karmada.membership.register import Registration
from karmada.scheduler.main import parser as scheduler
from karmada.standalone.main import main as karmada

ROOT = Path(__file__).parents[2]
VARIANTS = {"host": (), "host-ha": ("values-ha.yaml",)}
WATCHED = ("PodDisruptionBudget", "NetworkPolicy")
variants = pytest.mark.parametrize("variant", VARIANTS)


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and pod specs of all workloads."""
    for obj in objects:
        if obj["kind"] in ("Deployment", "StatefulSet"):
            yield obj["metadata"]["name"], obj["spec"]["template"]["spec"]


async def create_strictly(client: Client, objects: list[dict[str, Any]]) -> None:
    """Create objects; a field nobody knows is an error."""
    for obj in objects:
        served = await client.mapper.of_kind(obj["apiVersion"], obj["kind"])
        namespace = obj["metadata"].get("namespace", "")
        params = {"fieldValidation": "Strict"}
        await client.transport.send(Request(Verb.CREATE, served.type, namespace, params=params, body=obj))


@variants
def test_plain_manifests_are_the_rendered_chart(variant: str) -> None:
    written = list(yaml.safe_load_all((ROOT / "deploy" / "manifests" / f"{variant}.yaml").read_text()))
    assert written == render(default_values(*VARIANTS[variant])), "run `karmada manifests host` again"


@variants
async def test_a_host_cluster_takes_everything(variant: str) -> None:
    values = default_values(*VARIANTS[variant])
    secrets, _ = certificates("karmada-system", values["clusterDomain"], values["etcd"]["members"])
    async with ApiServer() as host:
        client = Client(host.direct(ADMIN))
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        metadata = {"name": "karmada-system", "labels": restricted}
        await create_strictly(client, [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
        await create_strictly(client, [*secrets, *render(values)])


async def test_a_control_plane_takes_its_objects_and_its_components_get_rights() -> None:
    _, authority = certificates("karmada-system", "cluster.local", ["etcd-0"])
    async with ApiServer() as server:
        await create_strictly(Client(server.direct(ADMIN)), control_plane(authority))


def test_bindings_are_converted_between_their_versions_by_the_webhook() -> None:
    objects = control_plane("Q0E=", "here")
    converted = {
        tree["spec"]["names"]["kind"]: tree["spec"]["conversion"]["webhook"]["clientConfig"]["url"]
        for tree in objects
        if tree["kind"] == "CustomResourceDefinition" and "conversion" in tree["spec"]
    }
    url = "https://karmada-webhook.here.svc:443/convert"
    assert converted == {"ResourceBinding": url, "ClusterResourceBinding": url}


@variants
def test_pods_are_locked_down(variant: str) -> None:
    for name, pod in pods(render(default_values(*VARIANTS[variant]))):
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"], name
            assert not context["allowPrivilegeEscalation"], name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name


def test_high_availability_means_replicas_budgets_and_separate_nodes() -> None:
    objects = render(default_values("values-ha.yaml"))
    budgets = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "PodDisruptionBudget"}
    replicas = {
        obj["metadata"]["name"]: obj["spec"]["replicas"] for obj in objects if "replicas" in obj.get("spec", {})
    }
    assert replicas.pop("karmada-apiserver") == replicas.pop("etcd") == 3
    assert set(replicas.values()) == {2}
    workloads = dict(pods(objects))
    assert budgets == workloads.keys()
    for pod in workloads.values():
        assert "requiredDuringSchedulingIgnoredDuringExecution" in pod["affinity"]["podAntiAffinity"]


def test_replicas_spread_over_zones_and_servers_are_reached_by_their_callers_only() -> None:
    objects = render(default_values("values-ha.yaml"))
    for name, pod in pods(objects):
        (constraint,) = pod["topologySpreadConstraints"]
        assert constraint["topologyKey"] == "topology.kubernetes.io/zone"
        assert constraint["labelSelector"]["matchLabels"] == {"app.kubernetes.io/name": name}
    policies = {obj["metadata"]["name"]: obj["spec"] for obj in objects if obj["kind"] == "NetworkPolicy"}

    def callers(name: str, port: int) -> list[str] | None:
        """Who may reach a port; None: everybody."""
        found: list[str] = []
        for rule in policies[name]["ingress"]:
            if port in [one["port"] for one in rule["ports"]]:
                if "from" not in rule:
                    return None
                found += [one["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for one in rule["from"]]
        return found

    assert callers("karmada-webhook", 8443) == callers("karmada-aggregated-apiserver", 4443) == ["karmada-apiserver"]
    assert callers("etcd", 2379) == ["karmada-apiserver", "karmada-aggregated-apiserver", "karmada-search", "etcd"]
    assert callers("etcd", 2380) == ["etcd"]
    assert callers("karmada-scheduler", 8080) is None
    assert callers("karmada-scheduler", 10351) == []
    assert "karmada-apiserver" not in policies
    assert not [obj for obj in render(default_values()) if obj["kind"] == "NetworkPolicy"]


def test_init_budgets_for_replicas_and_lets_components_be_reached_by_their_callers_only() -> None:
    beside = [part_of(name, 2 if name == "karmada-webhook" else 1, "") for name in PARTS]
    wanted = Installation("karmada-system", IMAGE, components=beside)
    objects = [*components(wanted, called=True), *components(wanted, called=False)]
    named = {kind: {one["metadata"]["name"] for one in objects if one["kind"] == kind} for kind in WATCHED}
    assert named["PodDisruptionBudget"] == {"karmada-webhook"}
    assert named["NetworkPolicy"] == set(PARTS)
    opened = {
        one["metadata"]["name"]: [
            rule.get("from") for rule in one["spec"]["ingress"] if rule["ports"][0]["port"] != 8080
        ]
        for one in objects
        if one["kind"] == "NetworkPolicy"
    }
    server = [{"podSelector": {"matchLabels": {"app": "karmada-apiserver"}}}]
    assert opened.pop("karmada-webhook") == opened.pop("karmada-aggregated-apiserver") == [server]
    assert set(map(tuple, opened.values())) == {()}


@variants
def test_every_mounted_secret_is_made(variant: str) -> None:
    values = default_values(*VARIANTS[variant])
    for component in values["components"].values():
        component["enabled"] = True
    mounted = {
        volume["secret"]["secretName"]
        for _, pod in pods(render(values))
        for volume in pod["volumes"]
        if "secret" in volume
    }
    made, _ = certificates("karmada-system", values["clusterDomain"], values["etcd"]["members"])
    of_an_addon = {"karmada-search-cert", "karmada-search-config"}  # `karmadactl addons enable` mounts them.
    assert {secret["metadata"]["name"] for secret in made} == mounted | {"karmada-admin-config"} | of_an_addon


@pytest.mark.parametrize(
    ("component", "flags"),
    {
        "karmada-controller-manager": controller_manager,
        "karmada-dashboard": dashboard,
        "karmada-descheduler": descheduler,
        "karmada-gateway": gateway,
        "karmada-scheduler": scheduler,
    }.items(),
)
def test_components_understand_their_flags(component: str, flags: Any) -> None:
    values = merge(default_values(), {"components": {component: {"enabled": True}}})
    commands = {name: pod["containers"][0]["command"] for name, pod in pods(render(values))}
    program, *arguments = commands[component]
    assert program == f"/bin/{component}"
    flags().parse(arguments)


def test_a_misspelt_value_is_refused() -> None:
    with pytest.raises(ChartError, match=r"^the chart has no value apiserver\.replcas$"):
        render(merge(default_values(), {"apiserver": {"replcas": 3}}))


def test_templates_use_every_value_and_only_what_the_renderer_knows() -> None:
    text = "".join((CHART / "templates" / name).read_text() for name in template_names())
    for key, value in default_values().items():
        assert f".Values.{key}" in text, key
        if isinstance(value, dict) and key != "components":
            for inner in value:
                assert f".Values.{key}.{inner}" in text, f"{key}.{inner}"
    assert set(re.findall(r"\| (\w+)", text)) == {"quote", "replace", "toJson"}


def test_only_the_controller_manager_has_rights_that_name_no_kind() -> None:
    wild = {
        (role["metadata"]["name"], verb)
        for role in rights()
        for rule in role.get("rules", ())
        if "*" in (*rule.get("apiGroups", ()), *rule.get("resources", ()), *rule["verbs"])
        for verb in rule["verbs"]
    }
    assert wild == {("system:karmada:controller-manager", verb) for verb in ("get", "list", "watch", "patch")}


def test_the_dashboard_has_neither_rights_nor_a_credential() -> None:
    """GHSA-833c-xh79-p429, CVE-2026-94290: what a component may do, whoever takes it over may do."""
    secrets, _ = certificates("karmada-system", "cluster.local", ["etcd-0"])
    config = next(one for one in secrets if one["metadata"]["name"] == "karmada-dashboard-config")
    read = yaml.safe_load(base64.b64decode(config["data"]["karmada.config"]))
    assert [one["user"] for one in read["users"]] == [{}]
    assert "dashboard" not in json.dumps(rights())
    values = merge(default_values(), {"components": {"karmada-dashboard": {"enabled": True}}})
    mine = [one for one in render(values) if one["metadata"]["name"] == "karmada-dashboard"]
    assert {one["kind"] for one in mine} == {"ServiceAccount", "Deployment", "Service"}
    mounted = {volume["secret"]["secretName"] for volume in dict(pods(mine))["karmada-dashboard"]["volumes"][:-1]}
    assert mounted == {"karmada-dashboard-config", "karmada-dashboard-cert"}


def test_the_gateway_is_reached_by_http_and_by_https() -> None:
    values = merge(default_values(), {"components": {"karmada-gateway": {"enabled": True}}})
    mine = {one["kind"]: one for one in render(values) if one["metadata"]["name"] == "karmada-gateway"}
    (container,) = mine["Deployment"]["spec"]["template"]["spec"]["containers"]
    listens = {port for word in container["command"] for port in re.findall(r"^--https?-bind-address=:(\d+)$", word)}
    reached = {port["port"]: port["targetPort"] for port in mine["Service"]["spec"]["ports"]}
    assert reached == {443: 8443, 80: 8000}
    assert set(map(str, reached.values())) == listens


def test_the_image_has_every_program_under_its_own_name() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    listed = re.search(r"for program in(.*?);", text, re.DOTALL)
    assert listed is not None
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(listed[1].replace("\\", " ").split()) == set(scripts)
    assert re.search(r"^USER 65532:65532$", text, re.MULTILINE)
    assert len(re.findall(r"^FROM ", text, re.MULTILINE)) == 2


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["host", "--ha"], "StatefulSet"),
        (["control-plane", "--ca=QQ=="], "APIService"),
        (["control-plane", "--ca=QQ==", "--host=karmada.example.com"], "ConfigMap"),
        (["certificates"], "Secret"),
    ],
    ids=["host", "control plane", "control plane with registration", "certificates"],
)
def test_manifests_are_printed(capsys: pytest.CaptureFixture[str], arguments: list[str], kind: str) -> None:
    assert main(arguments) == 0
    assert kind in {document["kind"] for document in yaml.safe_load_all(capsys.readouterr().out)}


def test_a_wrong_value_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("imageRegistri: here/\n")
    assert main(["host", "--values", str(tmp_path / "mine.yaml")]) == 1
    assert capsys.readouterr().err == "error: the chart has no value imageRegistri\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("antiAffinity: Required", "antiAffinity: 'Required' is none of preferred, required"),
        ('networkPolicies: "false"', "networkPolicies: 'false' is no boolean"),
        ("apiserver: {replicas: three}", "apiserver.replicas: 'three' is no integer"),
        ("apiserver: {replicas: -1}", "apiserver.replicas: -1 is less than 0"),
        ("disruptionBudget: true", "disruptionBudget: True is no integer"),
        ("imageRegistry: registry.example.com", "imageRegistry: 'registry.example.com' does not match ^(.+/)?$"),
        ("etcd: {members: []}", "etcd.members: there must be one at least"),
        ("etcd: {members: [1]}", "etcd.members[0]: 1 is no string"),
        ("etcd: {members: [null]}", "etcd.members[0]: None is no string"),
        ("tolerations: [null]", "tolerations[0]: None is no object"),
        ("[]", "the whole file: [] is no object"),
    ],
)
@pytest.mark.parametrize("what", ["host", "certificates", "operator"])
def test_values_that_helm_refuses_are_refused_without_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str, text: str, complaint: str
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert main([what, "--values", str(tmp_path / "mine.yaml")]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"error: {complaint}\n")
    schema = json.loads((CHART / "values.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)


def test_null_takes_a_default_away_as_with_helm(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("components: {karmada-webhook: null}\nglobal: {}\n")
    assert main(["host", "--values", str(tmp_path / "mine.yaml")]) == 0
    names = {document["metadata"]["name"] for document in yaml.safe_load_all(capsys.readouterr().out)}
    assert "karmada-scheduler" in names
    assert "karmada-webhook" not in names


@pytest.mark.parametrize(
    ("what", "text", "name"),
    [
        ("certificates", "etcd: null", "etcd"),
        ("certificates", "etcd: {members: null}", "etcd.members"),
        ("certificates", "clusterDomain: null", "clusterDomain"),
        ("operator", "image: null", "image"),
        ("operator", "imageRegistry: null", "imageRegistry"),
    ],
)
def test_null_takes_away_no_value_that_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str, text: str, name: str
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert main([what, "--values", str(tmp_path / "mine.yaml")]) == 1
    complaint = f"{name}: null removes a value that is needed here: leave {name} out for its default"
    assert capsys.readouterr() == ("", f"error: {complaint}\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["control-plane"], "control-plane needs --ca"),
        (["control-plane", "--ca="], "'' is no certificate in base64: it is in the Secret karmada-ca"),
        (["control-plane", "--ca=-----BEGIN CERTIFICATE-----"], "is no certificate in base64"),
        (["certificates", "--host=https://karmada.example.com:5443"], "write it without https:// and without a port"),
        (["certificates", "--host="], "'' is no name or address"),
        (["host", "--namespace=A b"], "'A b' is no namespace: a lowercase RFC 1123 label"),
    ],
)
def test_flags_that_make_manifests_of_no_use_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    out, err = capsys.readouterr()
    assert not out
    assert complaint in err


@variants
def test_values_of_the_chart_fit_its_schema_and_misspelt_ones_do_not(variant: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema == values_schema(default_values()), "run `karmada manifests values-schema` again"
    for name in ("values.yaml", *VARIANTS[variant]):
        jsonschema.validate(yaml.safe_load((CHART / name).read_text()), schema)
    for wrong in (
        {"imageRegistri": "x"},
        {"apiserver": {"replica": 3}},
        {"apiserver": {"replicas": "three"}},
        {"antiAffinity": "sometimes"},
        {"components": {"karmada-schedular": {"replicas": 2}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    jsonschema.validate({"nodeSelector": {"a": "b"}, "global": {}, "etcd": {"resources": {"limits": {}}}}, schema)


def test_manifests_are_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert karmada(["manifests", "host"]) == 0
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == render(default_values())


def test_one_image_is_named_everywhere() -> None:
    assert default_values()["image"] == IMAGE
    assert Registration("https://x", "t", "m").image == IMAGE
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_a_release_in_another_namespace_names_its_own_services() -> None:
    values = merge(
        default_values(), {"components": {name: {"enabled": True} for name in default_values()["components"]}}
    )
    commands = [pod["containers"][0]["command"] for _, pod in pods(render(values, "elsewhere"))]
    words = [word for command in commands for word in command]
    assert "--etcd-servers=https://etcd-client.elsewhere.svc:2379" in words
    assert not [word for word in words if "{" in word or ".karmada-system.svc" in word]

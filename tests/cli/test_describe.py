"""Descriptions of objects with much in them, against what kubectl printed for the same objects.

`described/objects.yaml` has the objects, `described/<kind>-<name>.txt` what kubectl said, with moments of creation and
identifiers evened out. Where that kubectl is at hand, the recordings are compared with it, too.
"""

import asyncio
import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.cli.world import World

from karmada.api import yaml
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport

FOLDER = Path(__file__).parent / "described"
OBJECTS = list(yaml.load_all((FOLDER / "objects.yaml").read_text()))
RECORDED_WITH = "v1.32."
_RULES = (
    # All moments but those that the objects themselves name.
    (r"\w{3}, (?!02 Jan 2026|01 Jan 0001)\d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "<moment of creation>".ljust(31)),
    (r"Created on:   .*", "Created on:   <time>"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    (r"(Creation Timestamp|Resource Version|Last Transition Time): +\S+", r"\1: <changing>"),
    (r"\d+[smhdy]+$", "<age>"),
)


def name_of(item: dict[str, Any]) -> str:
    return f"{item['kind'].lower()}-{item['metadata']['name']}"


def words_for(item: dict[str, Any], config: Path) -> list[str]:
    namespace = item["metadata"].get("namespace")
    words = ["describe", f"{item['kind'].lower()}/{item['metadata']['name']}", "--kubeconfig", str(config)]
    return words + (["-n", namespace] if namespace else [])


def even(text: str) -> str:
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    head, events, rest = text.partition("Events:\n")
    return head + events + re.sub(r"\d+[smhdy]\d*[smhdy]?", "<age>", re.sub(" +", " ", re.sub("-+", "-", rest)))


def as_maps_go(item: dict[str, Any], text: str) -> list[str]:
    """Lines; kubectl shows some maps in no particular order."""
    lines = text.splitlines()
    return sorted(lines) if item["kind"] in ("Secret", "ConfigMap", "LimitRange", "Namespace") else lines


def kubectl() -> str | None:
    """The client whose output was recorded, if it is here."""
    found = shutil.which("kubectl")
    if found is None:
        return None
    output = subprocess.run([found, "version", "--client"], capture_output=True, text=True, check=False).stdout
    return found if f"Client Version: {RECORDED_WITH}" in output else None


async def served_kind(client: Client, item: dict[str, Any]) -> ApiResource:
    """The kind of an object; one that was defined a moment ago is waited for."""
    for _ in range(500):
        with contextlib.suppress(UnknownKind):
            return await client.mapper.of_kind(item["apiVersion"], item["kind"])
        await asyncio.sleep(0.02)
    raise AssertionError(f"{item['kind']} is not served")


async def create_all(config: Path) -> None:
    """Create the objects, each with its status, owned by those that came before it."""
    transport = HttpTransport(load([config]).target())
    client = Client(transport, field_manager="test")
    uids: dict[tuple[str, str], str] = {}
    try:
        for given in OBJECTS:
            item = {**given}
            about = item["metadata"]
            served = await served_kind(client, item)
            owners = [
                {**one, "controller": True, "uid": uids[one["kind"], one["name"]]}
                for one in about.get("ownerReferences") or ()
            ]
            item["metadata"] = {**about, **({"ownerReferences": owners} if owners else {})}
            if target := item.get("involvedObject"):
                item["involvedObject"] = {**target, "uid": uids[target["kind"], target["name"]]}
            resource = client.resource(served.type)
            made = await resource.create(item, about.get("namespace", ""))
            uids[item["kind"], about["name"]] = made["metadata"]["uid"]
            if "status" in item:
                made["status"] = {**(made.get("status") or {}), **item["status"]}
                await resource.update_status(made)
    finally:
        await transport.close()


@pytest.fixture(scope="module")
def config(federation: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A server with the objects; the kubeconfig for it."""
    stack = AsyncExitStack()
    path = tmp_path_factory.mktemp("described") / "config"

    async def start() -> None:
        server = await stack.enter_async_context(ApiServer())
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("system:admin", ("system:masters",))
        address = f"https://127.0.0.1:{port}"
        write_kubeconfig(path, kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key))
        await create_all(path)

    federation.call(start())
    yield path
    federation.call(stack.aclose())


@pytest.mark.parametrize("item", OBJECTS, ids=name_of)
def test_objects_are_described_as_kubectl_describes_them(federation: World, config: Path, item: dict[str, Any]) -> None:
    outcome = federation.run(*words_for(item, config), config=False)
    assert outcome.code == 0, outcome.err
    recorded = (FOLDER / f"{name_of(item)}.txt").read_text()
    assert as_maps_go(item, even(outcome.out)) == as_maps_go(item, recorded)


@pytest.mark.parametrize("program", [found for found in (kubectl(),) if found])
def test_the_recordings_are_what_kubectl_says(config: Path, program: str) -> None:
    for item in OBJECTS:
        done = subprocess.run([program, *words_for(item, config)], capture_output=True, text=True, check=True)
        recorded = (FOLDER / f"{name_of(item)}.txt").read_text()
        assert as_maps_go(item, even(done.stdout)) == as_maps_go(item, recorded), name_of(item)


SAID_ALIKE = (
    "explain pod.spec.containers.ports.protocol",
    "explain deployment.spec.strategy --recursive",
    "explain widget",
    "get pods -n d -o json",
    "get pods -n d -o yaml",
    "get pods,svc -n d -o name",
    "get pods -n d -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.x.y",
    "get pods -n d -o jsonpath-as-json={.items[*].metadata.name}",
    "get deploy -n d -o go-template={{range.items}}{{.metadata.name}}:{{.spec.replicas}};{{end}}",
    "get events -n d -o name --sort-by=.lastTimestamp",
    "get pv -o name --sort-by=.spec.capacity.storage",
    "api-resources --namespaced=false --no-headers",
)


@pytest.mark.parametrize("program", [found for found in (kubectl(),) if found])
@pytest.mark.parametrize("line", SAID_ALIKE)
def test_other_commands_say_what_kubectl_says(federation: World, config: Path, program: str, line: str) -> None:
    words = [*line.split(), "--kubeconfig", str(config)]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    assert federation.run(*words, config=False).out == done.stdout


def test_a_field_is_explained_with_its_values(federation: World, config: Path) -> None:
    words = ("explain", "pod.spec.containers.ports.protocol", "--kubeconfig", str(config))
    head, _, description = federation.run(*words, config=False).out.partition("DESCRIPTION:\n")
    assert head == (
        "KIND:       Pod\nVERSION:    v1\n\nFIELD: protocol <string>\nENUM:\n    SCTP\n    TCP\n    UDP\n\n"
    )
    assert description.startswith("    Protocol for port.")


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("events", ".lastTimestamp", ["full.2", "full.1"]),
        ("pvc", ".spec.resources.requests.storage", ["clone", "data", "pending"]),
    ],
)
def test_objects_are_sorted_by_what_fields_mean(
    federation: World, config: Path, kind: str, path: str, expected: list[str]
) -> None:
    words = ("get", kind, "-n", "d", f"--sort-by={path}", "--kubeconfig", str(config))
    named = federation.run(*words, "-o", "name", config=False).out.split()
    assert [name.partition("/")[2] for name in named] == expected
    if kind != "events":
        rows = federation.run(*words, "--no-headers", config=False).out.splitlines()
        assert [row.split()[0] for row in rows] == expected


def test_all_objects_of_a_kind_are_described_one_after_the_other(federation: World, config: Path) -> None:
    outcome = federation.run("describe", "sa", "-n", "d", "--kubeconfig", str(config), config=False)
    assert outcome.out.count("\n\n\nName: ") == 2


def test_nothing_to_describe_is_said(federation: World, config: Path) -> None:
    outcome = federation.run("describe", "pods", "--kubeconfig", str(config), config=False)
    assert outcome == (0, "", "No resources found in default namespace.\n")


def test_objects_of_files_are_described(federation: World, config: Path, tmp_path: Path) -> None:
    file = tmp_path / "cm.yaml"
    file.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: bare, namespace: d}}")
    outcome = federation.run("describe", "-f", str(file), "--kubeconfig", str(config), config=False)
    assert outcome.out == (FOLDER / "configmap-bare.txt").read_text()

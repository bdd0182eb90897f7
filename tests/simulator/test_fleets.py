"""Fleet files: those that come with the distribution, mistakes in others, and fleets as processes."""

import os
import stat
from pathlib import Path

import orjson
import pytest
import yaml

from karmada.simulator.fleet import Fleet
from karmada.simulator.nodes import nodes_of
from karmada.simulator.spec import SHIPPED, FleetError, load, numbered, parse

ENVIRONMENT = Path(__file__).parents[3] / "shared" / "tools" / "environment"


@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
def test_shipped_fleets_are_valid(name):
    members = load(name).each()
    assert members
    assert all(list(nodes_of(member, 0)) for member in members)


def test_edge_500_has_five_hundred_members():
    members = load("edge-500").each()
    assert len(members) == 500
    assert {member.sync_mode for member in members} == {"Pull"}
    assert members[1].zones == ("north-2",)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch], ids=["a folder", "a file"])
def test_what_lies_in_the_working_directory_does_not_replace_the_default_fleet(tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)
    make(Path("three"))
    assert [member.name for member in numbered(2).each()] == ["member1", "member2"]


def test_a_folder_is_not_taken_for_a_shipped_fleet_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("three").mkdir()
    assert len(load("three").each()) == 3


@pytest.mark.skipif(not ENVIRONMENT.exists(), reason="needs ../shared/tools/environment")
def test_the_reference_fleet_equals_the_recorded_environment():
    documents = list(yaml.safe_load_all((ENVIRONMENT / "10-nodes.yaml").read_text()))
    recorded = {}
    for document in documents:
        sizes = {patch["ref"]["name"]: patch["body"]["status"]["allocatable"] for patch in document["patches"]}
        for node in document["objects"]:
            meta = node["metadata"]
            recorded[meta["name"]] = (document["on"][0], meta["labels"], meta["annotations"], sizes[meta["name"]])
    ours = {
        node["metadata"]["name"]: (
            member.name,
            node["metadata"]["labels"],
            node["metadata"]["annotations"],
            node["status"]["allocatable"],
        )
        for member in load("reference").each()
        for node in nodes_of(member, 0)
    }
    assert ours == recorded
    clusters = yaml.safe_load((ENVIRONMENT / "20-clusters.yaml").read_text())["patches"]
    for patch, member in zip(clusters, load("reference").each(), strict=True):
        body = patch["body"]
        assert (patch["ref"]["name"], body["metadata"]["labels"]) == (member.name, member.labels)
        assert body["spec"] == {"provider": member.provider, "region": member.region, "zones": list(member.zones)}


@pytest.mark.parametrize(
    ("fleet", "message"),
    [
        pytest.param({"members": [{"name": "a", "colour": "red"}]}, "unknown field `colour`", id="unknown field"),
        pytest.param({"members": [{"name": "A!"}]}, "member 'A!'", id="bad name"),
        pytest.param({"members": [{"name": "a"}, {"name": "a"}]}, "two members are named 'a'", id="twice"),
        pytest.param({"members": [{"name": "a", "nodePools": [{"cpu": "x"}]}]}, "cpu", id="bad quantity"),
        pytest.param({"members": [{"name": "a", "faults": {"rejecting": 404}}]}, "between 500 and 599", id="bad code"),
        pytest.param({}, "members", id="no members"),
    ],
)
def test_mistakes_are_named(fleet, message):
    with pytest.raises(FleetError, match=message):
        parse(fleet)


def test_an_unknown_fleet_names_those_there_are():
    with pytest.raises(FleetError, match="edge-500, multi-region, reference, three"):
        load("four")


async def test_a_fleet_keeps_its_ports_and_objects(tmp_path):
    from karmada.simulator.workloads.kinds import NODES

    urls = []
    for _ in range(2):
        async with Fleet(numbered(2), folder=tmp_path, memory=False) as fleet:
            await fleet.listen()
            urls.append([member.url for member in fleet.values()])
            client = fleet["member1"].client
            nodes = (await client.resource(NODES).list()).items
            made = {node["metadata"]["uid"] for node in nodes}
        urls.append(sorted(made))
    assert urls[:2] == urls[2:]
    kubeconfig = tmp_path / "member1" / "kubeconfig"
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600


async def test_the_process_says_when_it_is_ready_and_obeys_the_control_api(tmp_path):
    import asyncio
    import sys

    reader, writer = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "karmada.simulator.main", "--data", str(tmp_path), "--members", "1", "--memory",
        "--ready-descriptor", str(writer), pass_fds=(writer,), stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as ready:
            facts = orjson.loads(await asyncio.to_thread(ready.readline))
        assert facts["members"]["member1"]["region"] == "north"
        from karmada.simulator.command import ControlClient, ControlError

        client = ControlClient(tmp_path)
        answer = await asyncio.to_thread(client.request, "PATCH", "/v1/members/member1/faults", {"slowMilliseconds": 5})
        assert answer["faults"]["slowMilliseconds"] == 5
        with pytest.raises(ControlError, match="there is no member 'x'"):
            await asyncio.to_thread(client.request, "GET", "/v1/members/x")
        client._token = "wrong"
        with pytest.raises(ControlError, match="token"):
            await asyncio.to_thread(client.request, "GET", "/v1/members")
    finally:
        process.terminate()
        assert await process.wait() == 0
    assert not (tmp_path / "fleet.json").exists()


async def test_a_fleet_that_cannot_start_leaves_nothing_behind(tmp_path):
    taken = parse({"members": [{"name": "member2"}]})
    async with Fleet(taken, folder=tmp_path, memory=False):
        with pytest.raises(Exception, match=r"member2.* is in use by another API server"):
            async with Fleet(numbered(2), folder=tmp_path, memory=False):
                pass
        async with Fleet(numbered(1), folder=tmp_path, memory=False) as fleet:
            assert list(fleet) == ["member1"]

"""`karmadactl search` as people use it: over HTTPS, against a control plane with two members."""

import io
from pathlib import Path

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.conftest import searched as searched
from tests.search.world import PODS, Searched, pod, registry

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.cli.main import execute
from karmada.cli.session import Session


@pytest.fixture
async def config(searched: Searched, tmp_path: Path) -> Path:
    for member in searched.members.values():
        made = pod("web", app="shop")
        made["spec"]["containers"][0]["image"] = "nginx:1.25"
        await member.client.resource(PODS).create(made)
    await searched.register(registry(("v1", "Pod")))
    authority = searched.world.plane.server.identity.authority
    certificate, key = authority.issue_client("system:admin", ["system:masters"])
    endpoint = searched.world.endpoint
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, kubeconfig(endpoint, authority.certificate_pem, certificate=certificate, key=key))
    return path


async def karmadactl(config: Path, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = await execute(["search", *arguments], Session(out=out, err=err, environment={"KUBECONFIG": str(config)}))
    return code, out.getvalue(), err.getvalue()


async def test_matches_are_shown_with_their_cluster(config: Path) -> None:
    async def both() -> bool:
        code, out, _ = await karmadactl(config, "nginx", "-o", "name")
        return code == 0 and sorted(out.splitlines()) == ["member1 pod/default/web", "member2 pod/default/web"]

    await eventually(both)
    code, out, err = await karmadactl(config, "label:app=shop", "ngi", "cluster:member2")
    assert (code, err) == (0, "")
    head, row = (line.split() for line in out.splitlines())
    assert head == ["CLUSTER", "NAMESPACE", "KIND", "NAME", "STATUS", "AGE", "MATCH"]
    assert row[:5] == ["member2", "default", "Pod", "web", "Pending"]
    assert "[nginx" in out
    _, out, _ = await karmadactl(config, "nginx", "-o", "json")
    assert {item["cluster"] for item in orjson.loads(out)["items"]} == {"member1", "member2"}


async def test_a_query_that_finds_or_means_nothing_says_so(config: Path) -> None:
    code, out, err = await karmadactl(config, "kind:Nothing")
    assert (code, out) == (0, "")
    assert "nothing matches" in err
    code, _, err = await karmadactl(config, "colour:red")
    assert code == 1
    assert "there is no field colour" in err
    code, _, err = await karmadactl(config)
    assert code == 1
    assert "say what to search for" in err

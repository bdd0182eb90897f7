"""What need not be looked at is kept over a restart of the same program, and forgotten by any other."""

from pathlib import Path

import pytest

from karmada.controllers.bindings import BindingKey
from karmada.controllers.resumption.group import Group, Record
from karmada.controllers.resumption.program import fingerprint
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane_main import settled_records
from karmada.standalone.settled_store import SettledStore

WEB, SHOP = BindingKey("default", "web-deployment"), BindingKey("default", "shop-deployment")


def record(name: str, digest: bytes = b"0123456789abcdef") -> Record:
    type_ = GroupVersionResource("apps", "v1", "deployments")
    policy, clusters = Key("default", "all"), ("member1", "member2")
    return Record(digest, Group(type_, "apps/v1", "Deployment", name, "id", policy, f"{name}-1", clusters))


async def test_records_are_as_they_were_written_last(tmp_path: Path) -> None:
    path = tmp_path / "settled.sqlite"
    store = SettledStore(path, lambda: "this")
    assert await store.load() == {}
    await store.write({WEB: record("web"), SHOP: record("shop")})
    await store.write({WEB: record("web", b"other"), SHOP: None})
    assert path.stat().st_mode & 0o777 == 0o600
    found = await SettledStore(path, lambda: "this").load()
    assert found == {WEB: record("web", b"other")}
    assert isinstance(found[WEB].group.type, GroupVersionResource)
    assert isinstance(found[WEB].group.policy, Key)


async def test_another_program_finds_nothing_nor_does_the_first_one_after_it(tmp_path: Path) -> None:
    path = tmp_path / "settled.sqlite"
    await SettledStore(path, lambda: "this").load()
    await SettledStore(path, lambda: "this").write({WEB: record("web")})
    assert await SettledStore(path, lambda: "other").load() == {}
    assert await SettledStore(path, lambda: "this").load() == {}


async def test_a_file_that_is_no_database_raises(tmp_path: Path) -> None:
    path = tmp_path / "settled.sqlite"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(Exception, match="not a database"):
        await SettledStore(path, lambda: "this").load()


def test_a_program_is_another_one_with_other_flags() -> None:
    assert fingerprint(["--v", "1"]) == fingerprint(["--v", "1"])
    assert fingerprint(["--v", "1"]) != fingerprint(["--v", "2"])


async def test_where_a_start_is_reported_makes_no_other_program(tmp_path: Path) -> None:
    first, second, third = (
        settled_records(tmp_path, ["--data", "x", *more])
        for more in (["--ready-descriptor", "5"], ["--ready-descriptor", "7"], ["--v", "1"])
    )
    assert first is not None
    assert second is not None
    assert third is not None
    await first.load()
    await first.write({WEB: record("web")})
    assert await second.load() == {WEB: record("web")}
    assert await third.load() == {}

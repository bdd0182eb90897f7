"""Members that fail, in a federation of their own: what is broken here must not disturb other tests."""

from collections.abc import Iterator

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.world import World


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("fragile"))
    world.start()
    yield world
    world.stop()


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_cluster_that_fails_does_not_hide_the_others(federation: World, shop: str) -> None:
    member = federation.fleet["member2"]
    federation.call(member.change_faults(down=True))
    try:
        outcome = federation.run("get", "deployments", "-n", shop, "-s", "members")
    finally:
        federation.call(member.change_faults(down=False))
    assert outcome.code == 1
    assert [row[1] for row in table(outcome.out)[1:]] == ["member1"]
    assert outcome.err.startswith("error: cluster(member2): ")


def test_nobody_waits_long_for_a_member_that_hangs(federation: World, shop: str) -> None:
    member = federation.fleet["member2"]
    federation.call(member.change_faults(hanging=True))
    try:
        outcome = federation.run("get", "deployments", "-n", shop, "-s", "members")
    finally:
        federation.call(member.change_faults(hanging=False))
    assert outcome.code == 1
    assert [row[1] for row in table(outcome.out)[1:]] == ["member1"]
    assert outcome.err.startswith("error: cluster(member2): no answer within 8 s")


def test_a_cluster_that_is_down_is_found_with_a_remedy(federation: World) -> None:
    member = federation.fleet["member3"]
    federation.call(member.change_faults(down=True))
    try:
        outcome = federation.run("check")
    finally:
        federation.call(member.change_faults(down=False))
    assert outcome.code == 1
    assert "✗ proxy to member3" in outcome.out
    assert "→ Check network and credentials" in outcome.out


def test_a_certificate_that_has_expired_is_named(federation: World) -> None:
    member = federation.fleet["member3"]
    federation.call(member.change_faults(certificate_expired=True))
    try:
        outcome = federation.run("get", "pods", "--kubeconfig", federation.member_config("member3"))
    finally:
        federation.call(member.change_faults(certificate_expired=False))
    assert outcome.code == 1
    assert "certificate has expired" in outcome.err
    assert outcome.err.count("\n") == 1

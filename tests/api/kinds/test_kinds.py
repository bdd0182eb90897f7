"""The table of kinds agrees with the types it names."""

from typing import get_args

import msgspec
import pytest

from karmada.api.kinds import BY_NAME, BY_TYPE, KINDS, Home, Kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_types_carry_the_api_version_and_kind_of_their_entry(kind: Kind) -> None:
    for version in kind.versions:
        fields = {field.encode_name: field for field in msgspec.structs.fields(version.type)}
        assert get_args(fields["apiVersion"].type) == (f"{kind.group}/{version.name}",)
        assert get_args(fields["kind"].type) == (kind.kind,)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_exactly_one_version_is_stored(kind: Kind) -> None:
    assert sum(version.storage for version in kind.versions) == 1
    assert kind.storage.storage


def test_names_that_users_type_are_unique() -> None:
    names = [name for kind in KINDS for name in (kind.plural, kind.singular, *kind.short_names)]
    assert len(names) == len(set(names))


def test_lookups_reach_every_entry() -> None:
    assert {kind for kind, _ in BY_TYPE.values()} == set(KINDS) == set(BY_NAME.values())


def test_only_cluster_and_registry_are_aggregated_and_only_the_operator_kind_lives_in_the_host() -> None:
    assert {kind.kind for kind in KINDS if kind.home is Home.AGGREGATED} == {"Cluster", "ResourceRegistry"}
    assert {kind.kind for kind in KINDS if kind.home is Home.HOST} == {"Karmada"}

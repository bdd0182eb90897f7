"""The table of kinds agrees with the types it names, and all types keep the promises of their base."""

import ast
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from karmada.api import codec
from karmada.api.base import Struct
from karmada.api.kinds import BY_NAME, BY_TYPE, KINDS, Home, Kind
from karmada.api.policy import v1alpha1 as policy
from karmada.api.work.v1alpha2 import ResourceBinding


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


def subtypes(type_: type[Struct]) -> Iterator[type[Struct]]:
    for subtype in type_.__subclasses__():
        yield subtype
        yield from subtypes(subtype)


def test_every_type_is_frozen_untracked_and_camel_cased() -> None:
    for type_ in subtypes(Struct):
        config = type_.__struct_config__
        assert (config.frozen, config.gc, config.omit_defaults) == (True, False, True), type_
        assert not any("_" in field.encode_name for field in msgspec.structs.fields(type_)), type_


def test_decoded_objects_stay_out_of_the_garbage_collector_and_cannot_change() -> None:
    binding = codec.decode('{"spec":{"resource":{"apiVersion":"v1","kind":"Pod","name":"p"}}}', ResourceBinding)
    assert not gc.is_tracked(binding)
    assert not gc.is_tracked(binding.spec.resource)
    name = "name"
    with pytest.raises(AttributeError, match="immutable"):
        setattr(binding.spec.resource, name, "other")


def test_the_policy_package_exports_every_type_of_its_modules() -> None:
    modules = Path(policy.__file__).parent.glob("[!_]*.py")
    defined = {
        node.name for module in modules for node in ast.parse(module.read_text()).body if isinstance(node, ast.ClassDef)
    }
    assert set(policy.__all__) == defined

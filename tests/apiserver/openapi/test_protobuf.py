"""The protobuf form of the v2 document, read back by field numbers."""

import json
from collections.abc import Iterator

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.openapi import OpenAPI


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 2:
            size, at = varint(data, at)
            yield number, data[at : at + size]
            at += size
        elif kind == 1:
            yield number, data[at : at + 8]
            at += 8
        else:
            value, at = varint(data, at)
            yield number, value


def all_of(data: bytes, number: int) -> list[bytes]:
    return [value for found, value in fields(data) if found == number and isinstance(value, bytes)]


def named(data: bytes, number: int) -> dict[str, bytes]:
    pairs = (dict(fields(entry)) for entry in all_of(data, number))
    return {bytes(pair[1]).decode(): bytes(pair[2]) for pair in pairs}


def test_it_says_what_the_json_form_says() -> None:
    api = OpenAPI(builtin_types, lambda: 0)
    packed, plain = api.get("/openapi/v2", as_protobuf=True), api.get("/openapi/v2")
    assert packed is not None
    assert plain is not None
    document = json.loads(plain)
    definitions = named(all_of(packed, 9)[0], 1)
    assert definitions.keys() == document["definitions"].keys()
    paths = named(all_of(packed, 8)[0], 2)
    assert paths.keys() == document["paths"].keys()
    container = definitions["io.k8s.api.core.v1.Container"]
    expected = document["definitions"]["io.k8s.api.core.v1.Container"]
    properties = named(all_of(container, 25)[0], 1)
    assert properties.keys() == expected["properties"].keys()
    assert [name.decode() for name in all_of(container, 19)] == expected["required"]
    extensions = named(properties["ports"], 31)
    (keys,) = all_of(extensions["x-kubernetes-list-map-keys"], 2)
    assert json.loads(keys) == ["containerPort", "protocol"]


def test_operations_name_their_kinds() -> None:
    packed = OpenAPI(builtin_types, lambda: 0).get("/openapi/v2", as_protobuf=True)
    assert packed is not None
    paths = named(all_of(packed, 8)[0], 2)
    (patch,) = all_of(paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"], 8)
    (kind,) = all_of(named(patch, 13)["x-kubernetes-group-version-kind"], 2)
    assert json.loads(kind) == {"group": "apps", "kind": "Deployment", "version": "v1"}


def test_responses_are_described() -> None:
    packed = OpenAPI(builtin_types, lambda: 0).get("/openapi/v2", as_protobuf=True)
    assert packed is not None
    version = named(all_of(packed, 8)[0], 2)["/version/"]
    answers = named(all_of(all_of(version, 2)[0], 9)[0], 1)
    said = {code: all_of(all_of(answer, 1)[0], 1) for code, answer in answers.items()}
    assert said == {"200": [b"OK"], "401": [b"Unauthorized"]}

"""`kubectl.jsonl` holds bodies that kubectl 1.32 sent, each with what the same command prints as JSON."""

import base64
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.apiserver.protobuf import ProtobufError, decode

CASES = [json.loads(line) for line in Path(__file__).with_name("kubectl.jsonl").read_text().splitlines()]


def without_zeros(value):
    """Protobuf writes zero values that JSON leaves out."""
    if isinstance(value, dict):
        kept = {key: without_zeros(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, "", 0, False, {}, [])}
    if isinstance(value, list):
        return [without_zeros(item) for item in value]
    return value


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case["command"].removeprefix("kubectl create ").split(" --")[0]
)
def test_what_kubectl_sends_is_what_it_prints(case):
    tree, printed = without_zeros(decode(base64.b64decode(case["body"]))), without_zeros(case["json"])
    printed["metadata"].pop("namespace", None)
    tree["metadata"].pop("namespace", None)
    assert tree == printed


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def envelope(api_version, kind, raw):
    header = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, header) + field(2, raw)


def definition(schema):
    version = field(7, field(4, field(1, schema)))
    return envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, version))


@pytest.mark.parametrize(
    ("api_version", "kind", "raw", "path", "value"),
    [
        pytest.param("scheduling.k8s.io/v1", "PriorityClass", field(2, -7), ("value",), -7, id="negative number"),
        pytest.param("v1", "DeleteOptions", field(1, 0), ("gracePeriodSeconds",), 0, id="options of any group"),
        pytest.param("apps/v1", "Deployment", field(2, field(1, 0)), ("spec", "replicas"), 0, id="zero of a pointer"),
        pytest.param("v1", "ConfigMap", field(9, b"new"), (), None, id="unknown field"),
        pytest.param(
            "v1", "Secret", field(2, field(1, b"k") + field(2, b"\0\xff")), ("data", "k"), "AP8=", id="map of bytes"
        ),
        pytest.param(
            "v1",
            "Node",
            field(1, field(8, field(1, 1_700_000_000))),
            ("metadata", "creationTimestamp"),
            "2023-11-14T22:13:20Z",
            id="time",
        ),
        pytest.param(
            "coordination.k8s.io/v1",
            "Lease",
            field(2, field(4, field(1, 1_700_000_000) + field(2, 5000))),
            ("spec", "renewTime"),
            "2023-11-14T22:13:20.000005Z",
            id="time with microseconds",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(2, field(2, field(10, field(1, field(2, field(2, field(1, 1) + field(3, b"http"))))))),
            ("spec", "containers", 0, "livenessProbe", "httpGet", "port"),
            "http",
            id="inlined message, int or string",
        ),
        pytest.param(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            field(2, field(7, field(4, field(1, field(38, 1) + field(3, b"#/x"))))),
            ("spec", "versions", 0, "schema", "openAPIV3Schema"),
            {"x-kubernetes-preserve-unknown-fields": True, "$ref": "#/x"},
            id="names of schemas",
        ),
    ],
)
def test_forms_of_values(api_version, kind, raw, path, value):
    tree = decode(envelope(api_version, kind, raw))
    assert (tree["apiVersion"], tree["kind"]) == (api_version, kind)
    if value is None:
        return
    for part in path:
        tree = tree[part]
    assert tree == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{}", id="JSON"),
        pytest.param(b"k8s\0\xff", id="cut off number"),
        pytest.param(b"k8s\0\x12\xff\x01", id="cut off field"),
        pytest.param(envelope("v1", "Nonsense", b""), id="unknown kind"),
        pytest.param(envelope("x.dev/v1", "Thing", b""), id="custom kind"),
        pytest.param(envelope("v1", "ConfigMap", field(1, 7)), id="number for a message"),
        pytest.param(envelope("v1", "ConfigMap", field(1, field(1, b"\xff"))), id="not UTF-8"),
        pytest.param(envelope("v1", "Node", field(1, field(8, field(1, 1 << 62)))), id="impossible time"),
    ],
)
def test_malformed_bodies_are_refused(body):
    with pytest.raises(ProtobufError):
        decode(body)


def test_depth_is_bounded():
    raw = b""
    for _ in range(5000):
        raw = field(28, raw)
    with pytest.raises(ProtobufError, match="too deeply"):
        decode(
            envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, field(4, field(1, raw)))))
        )


@given(st.binary(max_size=60), st.sampled_from([case["body"] for case in CASES]), st.integers(0, 80))
def test_noise_is_decoded_or_refused(noise, body, cut):
    good = base64.b64decode(body)
    for data in (b"k8s\0" + noise, good[:cut] + noise, good[:cut] + noise + good[cut:]):
        try:
            decode(data)
        except ProtobufError:
            continue


def test_doubles():
    raw = struct.pack("<d", 1.5)
    maximum = bytes([9 << 3 | 1]) + raw
    assert decode(definition(maximum))["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"maximum": 1.5}


def test_numbers_have_64_bits_however_many_are_sent():
    generation = varint(1 << 3) + b"\xff" * 9 + b"\x05"
    assert decode(envelope("apps/v1", "Deployment", field(3, generation)))["status"]["observedGeneration"] == -1

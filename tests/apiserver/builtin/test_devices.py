"""What a kube-apiserver 1.36.3 says of device classes, claims and slices that are wrong."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import LABEL, TYPES, errors

from karmada.apiserver.schema.decoding import decode

GROUP = "resource.k8s.io"
REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}
CHOICE = {"name": "s", "deviceClassName": "c"}
SLICE = {"driver": "d.e", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}, "devices": [{"name": "v"}]}
YES = {"cel": {"expression": "device.driver == 'x'"}}
UNKNOWN = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
PLACES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
PER_DEVICE = "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
ONE = "exactly one of `exactly` or `firstAvailable` is required"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"selectors": [YES], "extendedResourceName": "a/b"}, [], id="right"),
        pytest.param({"selectors": [{}]}, ["selectors[0].cel: Required value"], id="no expression"),
        pytest.param(
            {"selectors": [{"cel": {"expression": "1"}}]},
            ['selectors[0].cel.expression: Invalid value: "1": must evaluate to bool or the unknown type, not int'],
            id="a number",
        ),
        pytest.param(
            {"selectors": [{"cel": {"expression": "true".ljust(10 * 1024 + 1)}}]},
            ["selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
            id="a long expression",
        ),
        pytest.param({"selectors": [YES] * 33}, ["selectors: Too many: 33: must have at most 32 items"], id="too many"),
        pytest.param({"config": [{}]}, ["config[0].opaque: Required value"], id="no configuration"),
        pytest.param(
            {"config": [{"opaque": {}}]},
            ["config[0].opaque.driver: Required value", "config[0].opaque.parameters: Required value"],
            id="an empty configuration",
        ),
        pytest.param(
            {"config": [{"opaque": {"driver": "x" * 64, "parameters": 5}}]},
            [
                "config[0].opaque.driver: Too long: may not be more than 63 bytes",
                'config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
            ],
            id="a bad configuration",
        ),
        pytest.param(
            {"extendedResourceName": "foo"},
            ['extendedResourceName: Invalid value: "foo": must be a valid extended resource name'],
            id="no extended resource",
        ),
    ],
)
def test_classes(spec, expected):
    assert errors(GROUP, "v1", "DeviceClass", {"spec": spec}) == [f"spec.{text}" for text in expected]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param({"requests": [REQUEST]}, [], id="right"),
        pytest.param({"requests": [REQUEST, REQUEST]}, ['requests[1]: Duplicate value: "r"'], id="twice"),
        pytest.param(
            {"requests": [{}]},
            [f'requests[0].name: Invalid value: "": {LABEL}', f"requests[0]: Required value: {ONE}"],
            id="nothing",
        ),
        pytest.param(
            {"requests": [{**REQUEST, "firstAvailable": [CHOICE]}]},
            [f"requests[0]: Invalid value: null: {ONE}, but multiple fields are set"],
            id="one and a choice",
        ),
        pytest.param(
            {"requests": [{"name": "r", "firstAvailable": [CHOICE, CHOICE]}]},
            ['requests[0].firstAvailable[1]: Duplicate value: "s"'],
            id="a choice twice",
        ),
        pytest.param(
            {"requests": [{"name": "r", "firstAvailable": [{**CHOICE, "name": f"s{at}"} for at in range(9)]}]},
            ["requests[0].firstAvailable: Too many: 9: must have at most 8 items"],
            id="too many choices",
        ),
        pytest.param(
            {"requests": [REQUEST], "constraints": [{"requests": ["x"], "matchAttribute": "a/b"}]},
            [f'constraints[0].requests[0]: Invalid value: "x": {UNKNOWN}'],
            id="of an unknown request",
        ),
        pytest.param(
            {"requests": [REQUEST], "constraints": [{"matchAttribute": ""}]},
            [
                f'constraints[0].matchAttribute: Invalid value: "": {IDENTIFIER}',
                'constraints[0].matchAttribute: Invalid value: "": '
                "a fully qualified name must be a domain and a name separated by a slash",
            ],
            id="no attribute",
        ),
        pytest.param(
            {"requests": [REQUEST], "constraints": [{}]},
            [
                'constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, '
                "but multiple fields are set"
            ],
            id="no constraint",
        ),
        pytest.param(
            {"requests": [REQUEST], "config": [{"requests": ["r", "r"]}]},
            ['config[0].requests[1]: Duplicate value: "r"', "config[0].opaque: Required value"],
            id="configured twice",
        ),
    ],
)
def test_claims_and_templates(devices, expected):
    claim = {"devices": devices}
    assert errors(GROUP, "v1", "ResourceClaim", {"spec": claim}) == [f"spec.devices.{text}" for text in expected]
    found = errors(GROUP, "v1", "ResourceClaimTemplate", {"spec": {"spec": claim}})
    assert found == [f"spec.spec.devices.{text}" for text in expected]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"deviceClassName": ""}, ["deviceClassName: Required value"], id="no class"),
        pytest.param(
            {"allocationMode": "X"},
            ['allocationMode: Unsupported value: "X": supported values: "All", "ExactCount"'],
            id="unknown mode",
        ),
        pytest.param(
            {"allocationMode": "All", "count": 2},
            ["count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
            id="two of all",
        ),
        pytest.param({"count": -1}, ["count: Invalid value: -1: must be greater than zero"], id="less than none"),
        pytest.param(
            {"tolerations": [{"operator": "Exists", "value": "v", "effect": "X"}]},
            [
                'tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
                'tolerations[0].effect: Unsupported value: "X": supported values: "NoExecute", "NoSchedule", "None"',
            ],
            id="a bad toleration",
        ),
    ],
)
def test_what_is_wanted(wanted, expected):
    request = {"name": "r", "exactly": {"deviceClassName": "c", **wanted}}
    found = errors(GROUP, "v1", "ResourceClaim", {"spec": {"devices": {"requests": [request]}}})
    assert found == [f"spec.devices.requests[0].exactly.{text}" for text in expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, [], id="right"),
        pytest.param({"driver": ""}, [".driver: Required value"], id="no driver"),
        pytest.param(
            {"pool": {"generation": -1}},
            [
                ".pool.name: Required value",
                ".pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                ".pool.generation: Invalid value: -1: must be greater than or equal to zero",
            ],
            id="no pool",
        ),
        pytest.param(
            {"nodeName": ""},
            [
                '.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
                f": Required value: {PLACES}",
            ],
            id="no node",
        ),
        pytest.param(
            {"allNodes": True},
            [f': Invalid value: "{{`nodeName`, `allNodes`}}": {PLACES}, but multiple fields are set'],
            id="one node and all",
        ),
        pytest.param(
            {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": []}},
            [
                ".nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
                ".nodeSelector.nodeSelectorTerms: Invalid value: []: must have exactly one node selector term",
            ],
            id="no terms",
        ),
        pytest.param(
            {"nodeName": None, "perDeviceNodeSelection": True},
            [
                ".devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required "
                f"when {PER_DEVICE}"
            ],
            id="nodes per device",
        ),
        pytest.param({"devices": [{"name": "v"}] * 2}, ['.devices[1]: Duplicate value: "v"'], id="twice"),
        pytest.param(
            {"devices": [{"name": "v", "bindingConditions": ["a"] * 5, "bindingFailureConditions": ["e.io/b"]}]},
            [".devices[0].bindingConditions: Too many: 5: must have at most 4 items"],
            id="too many conditions",
        ),
        pytest.param(
            {"devices": [{"name": "v", "bindingFailureConditions": ["a"]}]},
            [
                ".devices[0].bindingConditions: Invalid value: null: bindingConditions are required to use "
                "bindingFailureConditions"
            ],
            id="conditions of failure alone",
        ),
        pytest.param(
            {"devices": [{"name": f"v{at}"} for at in range(129)]},
            [".devices: Too many: 129: must have at most 128 items"],
            id="too many",
        ),
        pytest.param(
            {"sharedCounters": [{}]},
            [
                ': Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
                ".sharedCounters[0].name: Required value",
                ".sharedCounters[0].counters: Required value",
            ],
            id="devices and counters",
        ),
    ],
)
def test_slices(change, expected):
    found = errors(GROUP, "v1", "ResourceSlice", {"spec": {**SLICE, **change}})
    assert found == [f"spec{text}" for text in expected]


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        pytest.param({"attributes": {"A.B/c": {"version": "1.2.3"}}}, [], id="right"),
        pytest.param(
            {"attributes": {"a": {}}},
            ['.attributes[a]: Invalid value: "": exactly one value must be specified'],
            id="no value",
        ),
        pytest.param(
            {"attributes": {"a": {"string": "x", "int": 1}}},
            [
                '.attributes[a]: Invalid value: {"IntValue":1,"BoolValue":null,"StringValue":"x","VersionValue":null,'
                '"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: '
                "exactly one value must be specified"
            ],
            id="two values",
        ),
        pytest.param(
            {"attributes": {"a b": {"int": 1}}},
            [f'.attributes: Invalid value: "a b": {IDENTIFIER}'],
            id="a bad name",
        ),
        pytest.param(
            {"attributes": {"a": {"version": "1.2"}}},
            ['.attributes[a].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0'],
            id="no version",
        ),
        pytest.param(
            {"attributes": {f"a{at}": {"int": 1} for at in range(33)}},
            [": Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
            id="too many",
        ),
        pytest.param({"taints": [{"key": "a"}]}, [".taints[0].effect: Required value"], id="a taint without effect"),
        pytest.param(
            {"nodeName": "n"},
            [f": Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if {PER_DEVICE}"],
            id="a node of its own",
        ),
    ],
)
def test_devices(device, expected):
    found = errors(GROUP, "v1", "ResourceSlice", {"spec": {**SLICE, "devices": [{"name": "v", **device}]}})
    assert found == [f"spec.devices[0]{text}" for text in expected]


def changed(kind: str, old: Any, new: Any) -> list[str]:
    type_ = TYPES[GROUP, "v1", kind]
    before, after = ({"metadata": {"name": "n", "namespace": "default"}, "spec": spec} for spec in (old, new))
    for obj in (before, after):
        decode(type_.schema, obj)
        type_.strategy.default(obj)
    found = type_.strategy.validate(after, before)
    return [str(error) for error in found if not error.field.startswith("metadata")]


def test_slices_keep_driver_pool_and_node():
    new = {**SLICE, "driver": "e.f", "nodeName": "m", "pool": {"name": "q", "resourceSliceCount": 1}}
    assert changed("ResourceSlice", {**SLICE, "pool": dict(SLICE["pool"])}, new) == [
        'spec.driver: Invalid value: "e.f": field is immutable',
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.nodeName: Invalid value: "m": field is immutable',
    ]


def test_claims_do_not_change():
    old = {"devices": {"requests": [{"name": "q", "exactly": {"deviceClassName": "c"}}]}}
    choice = {**CHOICE, "selectors": [YES], "tolerations": [{"key": "a"}], "capacity": {"requests": {"a": "1"}}}
    new = {
        "devices": {
            "requests": [{"name": "r", "firstAvailable": [choice]}],
            "constraints": [{"matchAttribute": "a/b"}],
            "config": [{"requests": ["r"], "opaque": {"driver": "a.b", "parameters": {"x": 1}}}],
        }
    }
    assert changed("ResourceClaim", old, new) == [
        'spec: Invalid value: {"Devices":{"Requests":[{"Name":"r","Exactly":null,"FirstAvailable":[{"Name":"s",'
        '"DeviceClassName":"c","Selectors":[{"CEL":{"Expression":"device.driver == \'x\'"}}],'
        '"AllocationMode":"ExactCount","Count":1,"Tolerations":[{"Key":"a","Operator":"Equal","Value":"","Effect":"",'
        '"TolerationSeconds":null}],"Capacity":{"Requests":{"a":"1"}}}]}],"Constraints":[{"Requests":null,'
        '"MatchAttribute":"a/b","DistinctAttribute":null}],"Config":[{"Requests":["r"],"Opaque":{"Driver":"a.b",'
        '"Parameters":{"x":1}}}]}}: field is immutable'
    ]

"""What a kube-apiserver 1.36.3 says of priority classes, runtime classes, and what containers ask for."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import TYPES, errors, named

from karmada.apiserver.server import ApiServer
from karmada.machinery import errors as refusals
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

PRIORITIES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
EXTENDED = "doesn't follow extended resource name standard"
LIMIT = "limits: Required value: Limit must be set for non overcommitable resources"
NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NO_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("", ["preemptionPolicy: Required value"], id="none"),
        pytest.param(
            "X",
            ['preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"'],
            id="unknown",
        ),
    ],
)
def test_preemption(policy, expected):
    body = named("p", value=1, preemptionPolicy=policy)
    assert errors("scheduling.k8s.io", "v1", "PriorityClass", body) == expected


def test_of_an_update_of_a_priority_class_only_the_changes_are_judged():
    old = {"metadata": {"name": "p"}, "value": 5, "preemptionPolicy": "Never"}
    new = {**old, "value": 2_000_000_000, "preemptionPolicy": "X"}
    messages = TYPES["scheduling.k8s.io", "v1", "PriorityClass"].strategy.validate(new, old)
    assert [str(error) for error in messages] == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "X": field is immutable',
    ]


async def test_priority_classes_stay_in_their_generation_and_those_of_the_system_are_kept():
    async with ApiServer() as server:
        client = server.direct()
        patch = {"description": "x"}
        name = "system-node-critical"
        answer = await client.send(Request(Verb.PATCH, PRIORITIES, "", name, body=patch, patch_type=PatchType.MERGE))
        assert b'"generation":1,' in answer
        with pytest.raises(refusals.Forbidden) as caught:
            await client.send(Request(Verb.DELETE, PRIORITIES, "", name))
    assert caught.value.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


def runtime_class(**more: Any) -> list[str]:
    return errors("node.k8s.io", "v1", "RuntimeClass", named("r", handler="h", **more))


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        pytest.param({"cpu": "1", "kubernetes.io/b": "1500m"}, [], id="right"),
        pytest.param(
            {"foo": "-1500m"},
            [
                '.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                '.limits[foo]: Invalid value: "foo": must be a standard resource for containers',
                '.limits[foo]: Invalid value: "-1500m": must be greater than or equal to 0',
            ],
            id="unknown",
        ),
        pytest.param(
            {"pods": "1"},
            ['.limits[pods]: Invalid value: "pods": must be a standard resource for containers'],
            id="of a namespace",
        ),
        pytest.param(
            {"a/b": "-1500m"},
            [
                '.limits[a/b]: Invalid value: "-1500m": must be greater than or equal to 0',
                '.limits[a/b]: Invalid value: "-1500m": must be an integer',
            ],
            id="a part of a device",
        ),
        pytest.param(
            {"requests.a/b": "1500m"},
            [f'.limits[requests.a/b]: Invalid value: "requests.a/b": {EXTENDED}'],
            id="reserved",
        ),
        pytest.param(
            {"hugepages-2Mi": "3Mi"},
            [
                '.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                ": Forbidden: HugePages require cpu or memory",
            ],
            id="a part of a huge page",
        ),
    ],
)
def test_overhead(amounts, expected):
    assert runtime_class(overhead={"podFixed": amounts}) == [f"overhead{text}" for text in expected]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({"cpu": "1"}, [], id="shared"),
        pytest.param(
            {"a/b": "1500m"},
            ['requests[a/b]: Invalid value: "1500m": must be an integer', LIMIT],
            id="a part of a device",
        ),
        pytest.param(
            {"hugepages-2Mi": "3Mi", "cpu": "1"},
            [
                LIMIT,
                'requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
            ],
            id="huge pages",
        ),
    ],
)
def test_requests_without_limits(requests, expected):
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    body = named("p", spec={"containers": [container]})
    assert errors("", "v1", "Pod", body) == [f"spec.containers[0].resources.{text}" for text in expected]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param({"operator": "Exists"}, [], id="right"),
        pytest.param({}, [f'operator: Invalid value: "": {NO_KEY}'], id="nothing"),
        pytest.param(
            {"operator": "X"},
            [
                f'operator: Invalid value: "X": {NO_KEY}',
                'operator: Unsupported value: "X": supported values: "Equal", "Exists"',
            ],
            id="unknown operator",
        ),
        pytest.param(
            {"key": "a", "operator": "Lt", "value": "1"},
            ['operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'],
            id="an operator to come",
        ),
        pytest.param(
            {"operator": "Exists", "value": "v"},
            ["operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'"],
            id="a value to exist",
        ),
        pytest.param(
            {"key": "a b", "value": "b c", "effect": "X", "tolerationSeconds": 1},
            [
                f'key: Invalid value: "a b": {NAME}',
                "effect: Invalid value: \"X\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                f'operator: Invalid value: "b c": {VALUE}',
                'effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ],
            id="all of it",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "RuntimeClass"])
def test_tolerations(kind, toleration, expected):
    if kind == "Pod":
        spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [toleration]}
        found, place = errors("", "v1", "Pod", named("p", spec=spec)), "spec"
    else:
        found, place = runtime_class(scheduling={"tolerations": [toleration]}), "scheduling"
    assert found == [f"{place}.tolerations[0].{text}" for text in expected]


def test_runtime_classes_tolerate_nothing_twice():
    twice = '{"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":null}'
    assert runtime_class(scheduling={"nodeSelector": {"a": "b c"}, "tolerations": [{"key": "a"}, {"key": "a"}]}) == [
        f'scheduling.nodeSelector: Invalid value: "b c": {VALUE}',
        f"scheduling.tolerations[1]: Duplicate value: {twice}",
    ]


def test_leases_have_no_part_in_coordinated_elections():
    lease: dict[str, Any] = {"spec": {"strategy": "X", "preferredHolder": "p", "holderIdentity": "h"}}
    strategy = TYPES["coordination.k8s.io", "v1", "Lease"].strategy
    strategy.prepare_create(lease)
    assert lease["spec"] == {"holderIdentity": "h"}
    changed: dict[str, Any] = {"spec": {"preferredHolder": "p"}}
    strategy.prepare_update(changed, lease)
    assert changed["spec"] == {}

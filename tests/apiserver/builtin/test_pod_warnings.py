"""Warnings about pod specs, in the words of a stock kube-apiserver 1.36.3."""

from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.builtin.strategies.port_warnings import COMPARED

TYPES = {type_.kind: type_ for type_ in builtin_types() if type_.group in ("", "apps", "batch")}
HOST = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"


def warned(kind: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return TYPES[kind].strategy.warnings({"metadata": {"name": "o"}, **obj}, old)


def pod(**spec: Any) -> list[str]:
    return warned("Pod", {"spec": spec})


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, "spec.nodeSelector[beta.kubernetes.io/os]: deprecated"),
        ({"topologySpreadConstraints": [{}]}, "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector"),
        ({"volumes": [{"gitRepo": {}}]}, "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default"),
        ({"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}, 'spec.imagePullSecrets[1].name: duplicate name "a"'),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{}]}}]},
            'volume "v" (Projected) has no sources provided',
        ),
        ({"terminationGracePeriodSeconds": -1}, "spec.terminationGracePeriodSeconds: must be >= 0"),
        (
            {"containers": [{"resources": {"limits": {"memory": "200m"}}}]},
            'spec.containers[0].resources.limits[memory]: fractional byte value "200m" is invalid, must be an integer',
        ),
        (
            {"containers": [{"env": [{"name": "A"}, {"name": "A", "value": "b"}]}]},
            'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        ),
        (
            {"containers": [{"ports": [{"containerPort": 1}, {"containerPort": 1}]}]},
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ),
        (
            {"volumes": [{"name": "s", "secret": {"secretName": "t", "items": [{"path": "a"}, {"path": "a/b"}]}}]},
            'volume "s" (Secret "t"): overlapping paths: "a/b" with "a"',
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(spec, text):
    [found] = pod(**spec)
    assert found.startswith(text)


def test_variables_that_extend_earlier_ones_are_meant():
    assert pod(containers=[{"env": [{"name": "A"}, {"name": "A", "value": "$(A)b"}]}]) == []


@pytest.mark.parametrize(
    ("kind", "spec", "place"),
    [
        ("StatefulSet", lambda template: {"spec": {"template": template}}, "spec.template"),
        ("Job", lambda template: {"spec": {"template": template}}, "spec.template"),
        ("PodTemplate", lambda template: {"template": template}, "template"),
        (
            "CronJob",
            lambda template: {"spec": {"jobTemplate": {"spec": {"template": template}}}},
            "spec.jobTemplate.spec.template",
        ),
    ],
)
def test_templates_are_judged_where_they_are(kind, spec, place):
    obj = spec({"spec": {"volumes": [{"rbd": {}}]}})
    assert warned(kind, obj) == [f"{place}.spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+"]


def test_an_update_is_warned_of_only_if_it_changes_the_spec():
    obj = {"metadata": {"name": "o"}, "spec": {"template": {"spec": {"volumes": [{"rbd": {}}]}}}}
    assert warned("Deployment", obj, obj) == []
    assert len(warned("Deployment", obj, {**obj, "spec": {}})) == 1


def test_names_that_are_no_host_names_are_warned_of_once():
    dotted = {"metadata": {"name": "a.b"}}
    assert warned("Pod", {**dotted, "spec": {}}) == [f"metadata.name: this is used in the Pod's hostname, {HOST}"]
    assert warned("Deployment", {**dotted, "spec": {}}) == [
        f"metadata.name: this is used in Pod names and hostnames, {HOST}"
    ]
    assert warned("DaemonSet", {**dotted, "spec": {}}) == []


def test_a_pod_of_a_hundred_thousand_ports_and_files_costs_a_bounded_number_of_comparisons() -> None:
    many = 100_000
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80}] * many,
        "env": [{"name": f"e{number}", "value": "x"} for number in range(many)],
    }
    items = [{"key": "k", "path": f"p{number}"} for number in range(many)]
    same = [{"key": "k", "path": "p"}] * many
    for files in (items, same):
        spec = {"containers": [container], "volumes": [{"name": "v", "configMap": {"name": "c", "items": files}}]}
        assert len(pod(**spec)) <= 2 * COMPARED


def test_ordinary_numbers_of_ports_are_all_compared() -> None:
    ports = [{"containerPort": 80}] * 20
    texts = pod(containers=[{"name": "c", "image": "i", "ports": ports}])
    assert len([text for text in texts if "duplicate port definition" in text]) == 20 * 19 // 2

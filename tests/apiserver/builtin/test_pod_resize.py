"""What `pods/resize` refuses: every case was compared with a stock kube-apiserver."""

import pytest

from karmada.apiserver.builtin.strategies.pod import quality_of_service
from karmada.apiserver.builtin.strategies.pod_resize import resize_errors, resized

ONE = {"cpu": "1", "memory": "1Gi"}
TWO = {"cpu": "2", "memory": "2Gi"}
SOME, BOUNDED, EXACT = {"requests": ONE}, {"requests": ONE, "limits": TWO}, {"requests": ONE, "limits": ONE}
SERVICE = "Pod QOS Class may not change as a result of resizing"
OTHERS = "Forbidden: only cpu and memory resources are mutable"


DEFAULTS = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always"}
OF_CONTAINERS = {"imagePullPolicy": "Always", "terminationMessagePolicy": "File"}


def pod(resources, **container):
    container = {"name": "c", "image": "i", "resources": resources, **OF_CONTAINERS, **container}
    return {**DEFAULTS, "containers": [container]}


def refused(old, wanted):
    return [str(error.message) for error in resize_errors(old, resized(old, wanted))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SOME, {"requests": TWO}),
        (SOME, {"requests": ONE, "limits": TWO}),
        (BOUNDED, {"requests": ONE, "limits": {"cpu": "2", "memory": "1536Mi"}}),
        (EXACT, {"requests": TWO, "limits": TWO}),
    ],
    ids=["more", "a bound", "a lower bound", "guaranteed stays guaranteed"],
)
def test_cpu_and_memory_may_change(old, new):
    assert refused(pod(old), pod(new)) == []
    assert resized(pod(old), pod(new)) == pod(new)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ({}, SOME, [SERVICE]),
        (EXACT, {"requests": ONE, "limits": TWO}, [SERVICE]),
        (SOME, {"requests": {"memory": "1Gi"}}, ["resource requests cannot be removed"]),
        (BOUNDED, SOME, ["resource limits cannot be removed"]),
        (SOME, {"requests": {**ONE, "ephemeral-storage": "1Gi"}}, [OTHERS]),
        (SOME, {}, [SERVICE, "resource requests cannot be removed"]),
        ({}, {"requests": {"cpu": "-1"}}, ["must be greater than or equal to 0"]),
    ],
    ids=["first request", "no more guaranteed", "a request", "limits", "other resources", "all requests", "below zero"],
)
def test_what_else_would_change_is_refused(old, new, why):
    found = refused(pod(old), pod(new))
    assert len(found) == len(why)
    assert all(words in message for words, message in zip(why, found, strict=True)), found


def test_the_policy_of_a_resize_stays():
    policy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    assert refused(pod(SOME), pod(SOME, resizePolicy=policy)) == [OTHERS]


def test_resources_of_the_whole_pod_may_change():
    old = {**pod(SOME), "resources": {"requests": TWO}}
    new = {**pod(SOME), "resources": {"requests": {"cpu": "3", "memory": "2Gi"}}}
    assert refused(old, new) == []
    assert resized(old, new)["resources"] == new["resources"]


def test_everything_else_is_left_alone():
    assert resized(pod(SOME), {**pod(SOME, image="another"), "nodeName": "n"}) == pod(SOME)


def test_resources_of_the_whole_pod_decide_its_quality_of_service_even_if_empty():
    assert quality_of_service({**pod(SOME), "resources": {}}) == "BestEffort"

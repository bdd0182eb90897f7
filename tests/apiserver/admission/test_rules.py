"""Admission rules of the cluster itself: quotas, limits, pod security, policies, defaults, addresses."""

import asyncio

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, api, configmap, server

from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

__all__ = ["api", "server"]


async def make(client: Api, group: str, version: str, plural: str, body, namespace: str = "default", **more) -> None:
    resource = GroupVersionResource(group, version, plural)
    await client.transport.send(Request(Verb.CREATE, resource, namespace, body=body, **more))


def pod(name: str, **resources):
    container = {"name": "c", "image": "i"}
    if resources:
        container["resources"] = resources
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


QUOTAS = GroupVersionResource("", "v1", "resourcequotas")


async def quota(client: Api, name: str = "q", **hard: str) -> None:
    await make(client, "", "v1", "resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard}})
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    request = Request(Verb.PATCH, QUOTAS, "default", name, "status", body=status, patch_type=PatchType.MERGE)
    await client.transport.send(request)


async def test_a_quota_admits_until_it_is_used_up(api):
    await quota(api, pods="1")
    await api.create("pods", pod("a"))
    with pytest.raises(errors.Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"):
        await api.create("pods", pod("b"))


async def test_a_quota_on_compute_demands_requests(api):
    await quota(api, **{"requests.cpu": "1"})
    with pytest.raises(errors.Forbidden, match=r"failed quota: q: must specify requests\.cpu for: c"):
        await api.create("pods", pod("a"))
    await api.create("pods", pod("a", requests={"cpu": "600m"}))
    with pytest.raises(errors.Forbidden, match=r"requested: requests\.cpu=600m, used: requests\.cpu=600m"):
        await api.create("pods", pod("b", requests={"cpu": "600m"}))


async def test_a_pod_is_not_resized_beyond_a_quota(api):
    await api.create("pods", pod("a", requests={"cpu": "100m"}))
    await quota(api, **{"requests.cpu": "500m"})
    for cpu in ("400m", "900m", "500m"):
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        where = {"subresource": "resize", "body": {"spec": {"containers": [container]}}}
        if cpu != "900m":
            await api.patch("pods", "a", kind=PatchType.STRATEGIC, **where)
            continue
        with pytest.raises(errors.Forbidden, match=r"exceeded quota: q, requested: requests\.cpu=500m, used: .*=300m"):
            await api.patch("pods", "a", kind=PatchType.STRATEGIC, **where)


async def test_together_no_more_is_admitted_than_the_quota_allows(api):
    await quota(api, configmaps="3")
    tries = (api.create("configmaps", configmap(f"c{n}")) for n in range(8))
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(not isinstance(result, Exception) for result in results) == 3


async def test_what_one_quota_refuses_is_charged_to_none(api):
    await quota(api, "ample", configmaps="9")
    await quota(api, "tight", configmaps="0")
    with pytest.raises(errors.Forbidden, match="exceeded quota: tight"):
        await api.create("configmaps", configmap("c"))
    ample = orjson.loads(await api.transport.send(Request(Verb.GET, QUOTAS, "default", "ample")))
    assert ample["status"]["used"] == {"configmaps": "0"}


async def test_limits_are_filled_in_and_bounded(api):
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}]
    await make(api, "", "v1", "limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    created = await api.create("pods", pod("a"))
    assert created["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    with pytest.raises(errors.Forbidden, match="maximum cpu usage per Container is 1, but limit is 2"):
        await api.create("pods", pod("b", limits={"cpu": "2"}))


async def test_limits_may_exceed_requests_only_by_the_ratio_of_the_range(api):
    limits = [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "1500m"}}]
    await make(api, "", "v1", "limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    await api.create("pods", pod("a", requests={"cpu": "100m"}, limits={"cpu": "150m"}))
    text = "cpu max limit to request ratio per Pod is 1500m, but provided ratio is 1.510000"
    with pytest.raises(errors.Forbidden, match=text):
        await api.create("pods", pod("b", requests={"cpu": "100m"}, limits={"cpu": "151m"}))


async def test_pods_meet_the_standard_of_their_namespace(api):
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await api.create("namespaces", {"metadata": {"name": "n", "labels": labels}})
    with pytest.raises(errors.Forbidden) as refused:
        await api.create("pods", pod("a"), namespace="n")
    assert refused.value.message == (
        'pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false '
        '(container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities '
        '(container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container '
        '"c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    body = pod("b")
    body["spec"]["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    body["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert await api.create("pods", body, namespace="n")


async def test_one_priority_class_is_for_pods_that_name_none(api):
    type_ = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
    for name, default in (("a", True), ("b", False)):
        body = {"metadata": {"name": name}, "value": 5, "globalDefault": default}
        await make(api, type_.group, type_.version, type_.resource, body, "")

    async def mark(name: str, default: bool) -> None:
        body = {"globalDefault": default, "description": "x"}
        await api.transport.send(Request(Verb.PATCH, type_, name=name, body=body, patch_type=PatchType.MERGE))

    await mark("a", True)
    with pytest.raises(errors.Forbidden, match="PriorityClass a is already marked as default"):
        await mark("b", True)
    second = {"metadata": {"name": "c"}, "value": 5, "globalDefault": True}
    with pytest.raises(errors.Forbidden, match="Only one default can exist"):
        await make(api, type_.group, type_.version, type_.resource, second, "")
    await mark("a", False)
    await mark("b", True)


BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}


async def test_containers_for_debugging_meet_the_standard_of_their_namespace(api):
    await api.create("namespaces", {"metadata": {"name": "n", "labels": BASELINE}})
    await api.create("pods", pod("a"), namespace="n")
    for privileged in (True, False):
        debugger = {"name": "d", "image": "i", "securityContext": {"privileged": privileged}}
        body = {"spec": {"ephemeralContainers": [debugger]}}
        where = {"namespace": "n", "subresource": "ephemeralcontainers"}
        if not privileged:
            await api.patch("pods", "a", body, PatchType.STRATEGIC, **where)
            continue
        with pytest.raises(errors.Forbidden, match=r'violates PodSecurity .* \(container "d" must not set'):
            await api.patch("pods", "a", body, PatchType.STRATEGIC, **where)


async def test_a_pod_from_before_a_standard_may_be_changed_but_not_run_anything_else(api):
    await api.create("namespaces", {"metadata": {"name": "n"}})
    old = pod("a")
    old["spec"]["hostNetwork"] = True
    await api.create("pods", old, namespace="n")
    await api.patch("namespaces", "n", {"metadata": {"labels": BASELINE}})
    await api.patch("pods", "a", {"spec": {"activeDeadlineSeconds": 5}}, namespace="n")
    image = {"spec": {"containers": [{"name": "c", "image": "another"}]}}
    with pytest.raises(errors.Forbidden, match="host namespaces"):
        await api.patch("pods", "a", image, PatchType.STRATEGIC, namespace="n")


async def test_a_policy_denies_what_its_rules_forbid(api):
    group = "admissionregistration.k8s.io"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "variables": [{"name": "keys", "expression": "size(object.data)"}],
            "validations": [{"expression": "variables.keys <= 1", "message": "one key only"}],
        },
    }
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    await make(api, group, "v1", "validatingadmissionpolicies", policy, "")
    await make(api, group, "v1", "validatingadmissionpolicybindings", binding, "")
    assert await api.create("configmaps", configmap("a", k="v"))
    with pytest.raises(errors.Invalid, match="'p' with binding 'b' denied request: one key only"):
        await api.create("configmaps", configmap("b", k="v", l="w"))


async def test_a_policy_can_ask_what_the_user_may_do(api):
    group = "admissionregistration.k8s.io"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    expression = "authorizer.serviceAccount('default', 'x').group('').resource('pods').check('list').allowed()"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    await make(api, group, "v1", "validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec}, "")
    await make(api, group, "v1", "validatingadmissionpolicybindings", binding, "")
    with pytest.raises(errors.Invalid, match="failed expression: authorizer"):
        await api.create("configmaps", configmap("a"))
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    bound = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "default"}],
    }
    rbac = "rbac.authorization.k8s.io"
    await make(api, rbac, "v1", "clusterroles", {"metadata": {"name": "r"}, "rules": rules}, "")
    await make(api, rbac, "v1", "clusterrolebindings", bound, "")
    assert await api.create("configmaps", configmap("a"))


async def test_services_get_addresses_that_nobody_else_has(api):
    resource = GroupVersionResource("", "v1", "services")
    found = set()
    for number in range(5):
        body = {"metadata": {"name": f"s{number}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
        answer = orjson.loads(await api.transport.send(Request(Verb.CREATE, resource, "default", body=body)))
        found.add((answer["spec"]["clusterIP"], answer["spec"]["ports"][0]["nodePort"]))
    assert len({ip for ip, _ in found}) == len({port for _, port in found}) == 5


async def test_pods_get_priority_and_tolerations(api):
    created = await api.create("pods", pod("a"))
    assert created["spec"]["priority"] == 0
    assert [toleration["key"] for toleration in created["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    body = pod("b")
    body["spec"]["priorityClassName"] = "nosuch"
    with pytest.raises(errors.Forbidden, match="no PriorityClass with name nosuch was found"):
        await api.create("pods", body)


@pytest.mark.parametrize(
    ("mutation", "expected"),
    [
        (
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": 'Object{metadata: Object.metadata{labels: {"by": "policy"}}, data: {"n": "1"}}'
                },
            },
            ({"by": "policy"}, {"k": "v", "n": "1"}),
        ),
        (
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": '[JSONPatch{op: "add", path: "/data/n", value: object.metadata.name}]'},
            },
            (None, {"k": "v", "n": "a"}),
        ),
    ],
    ids=["applied configuration", "JSON patch"],
)
async def test_a_policy_changes_objects(api, mutation, expected):
    group = "admissionregistration.k8s.io"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
            "mutations": [mutation],
        },
    }
    await make(api, group, "v1", "mutatingadmissionpolicies", policy, "")
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    await make(api, group, "v1", "mutatingadmissionpolicybindings", binding, "")
    created = await api.create("configmaps", configmap("a", k="v"))
    assert (created["metadata"].get("labels"), created["data"]) == expected

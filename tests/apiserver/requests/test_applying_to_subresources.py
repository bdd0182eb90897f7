"""Server-side apply to subresources that write a part of an object; what was compared with a stock kube-apiserver."""

import pytest

from karmada.machinery import errors
from karmada.machinery.transport import PatchType
from karmada.testing.differential.kube.report import signing_request

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SHELL = {"spec": {"ephemeralContainers": [{"name": "shell", "image": "i"}]}}
CSR = {
    "metadata": {"name": "o"},
    "spec": {
        "signerName": "example.com/s",
        "usages": ["client auth", "digital signature"],
        "request": signing_request(),
    },
}


async def apply(api, resource, name, subresource, body, manager="two", **options):
    kinds = {"pods": ("v1", "Pod"), "csrs": ("certificates.k8s.io/v1", "CertificateSigningRequest")}
    version, kind = kinds[resource]
    config = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}
    options = {"subresource": subresource, "fieldManager": manager, **options}
    return await api.patch(resource, name, config, PatchType.APPLY, **options)


def owned(obj, manager):
    return [entry["fieldsV1"] for entry in obj["metadata"]["managedFields"] if entry["manager"] == manager]


async def test_a_container_for_debugging_that_is_applied_belongs_to_who_applied_it(api):
    await api.create("pods", POD)
    pod = await apply(api, "pods", "p", "ephemeralcontainers", SHELL)
    assert [one["name"] for one in pod["spec"]["ephemeralContainers"]] == ["shell"]
    [fields] = owned(pod, "two")
    assert list(fields["f:spec"]["f:ephemeralContainers"]) == ['k:{"name":"shell"}']
    other = {"spec": {"ephemeralContainers": [{"name": "shell", "image": "another"}]}}
    with pytest.raises(errors.Conflict, match='conflict with "two" with subresource "ephemeralcontainers"'):
        await apply(api, "pods", "p", "ephemeralcontainers", other, "three")
    with pytest.raises(errors.Invalid, match="may not be changed or removed"):
        await apply(api, "pods", "p", "ephemeralcontainers", {})


async def test_an_approval_that_is_applied_leaves_other_conditions(api):
    await api.create("csrs", CSR)
    await apply(api, "csrs", "o", "status", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    decision = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    made = await apply(api, "csrs", "o", "approval", decision, "three")
    assert [one["type"] for one in made["status"]["conditions"]] == ["Failed", "Approved"]
    [fields] = owned(made, "three")
    assert list(fields["f:status"]["f:conditions"]) == ['k:{"type":"Approved"}']


async def test_conditions_that_nobody_owns_are_judged_when_they_are_applied(api):
    await api.create("csrs", CSR)
    with pytest.raises(errors.Invalid, match=r"status\.conditions\[0\]\.status: Required value"):
        await apply(api, "csrs", "o", "status", {"status": {"conditions": [{"type": "Failed"}]}})


async def test_another_name_is_refused(api):
    await api.create("pods", POD)
    with pytest.raises(errors.BadRequest, match="does not match the name on the URL"):
        await apply(api, "pods", "p", "resize", {"metadata": {"name": "q"}})


DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


async def scale(api, replicas, **options):
    config = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d"},
        "spec": {"replicas": replicas},
    }
    options = {"subresource": "scale", "fieldManager": "two", **options}
    return await api.patch("deployments", "d", config, PatchType.APPLY, **options)


async def deployment_without_owner_of_replicas(api, replicas=3):
    made = await api.create("deployments", {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": replicas}})
    del made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"]
    await api.update("deployments", made)


@pytest.mark.parametrize("others", [True, False])
async def test_replicas_that_nobody_owns_are_whose_who_wrote_them_before(api, others):
    await deployment_without_owner_of_replicas(api)
    if not others:
        await api.patch("deployments", "d", {"metadata": {"managedFields": [{}]}})
    with pytest.raises(errors.Conflict, match='conflict with "before-first-apply" with subresource "scale"'):
        await scale(api, 5)
    await scale(api, 3)
    shared = await api.get("deployments", "d")
    assert owned(shared, "before-first-apply") == owned(shared, "two") == [{"f:spec": {"f:replicas": {}}}]
    await scale(api, 5, force="true")
    assert not owned(await api.get("deployments", "d"), "before-first-apply")


async def test_no_replicas_at_all_belong_to_nobody_unless_somebody_says_so(api):
    await deployment_without_owner_of_replicas(api, 0)
    assert (await scale(api, 5))["spec"] == {"replicas": 5}


async def test_no_replicas_at_all_belong_to_who_gave_them(api):
    await api.create("deployments", {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 0}})
    with pytest.raises(errors.Conflict, match=r"\.spec\.replicas"):
        await scale(api, 0)

"""`namespaces/finalize`; what was compared with a stock kube-apiserver."""

import pytest

from karmada.machinery import errors

NAME = "kubernetes.io/metadata.name"


async def finalize(api, own, **metadata):
    body = {
        "metadata": {"name": "a", **metadata},
        "spec": {"finalizers": own},
        "status": {"phase": "Terminating"},
    }
    return await api.update("namespaces", body, subresource="finalize")


async def test_everything_but_the_status_is_replaced(api):
    await api.create("namespaces", {"metadata": {"name": "a", "labels": {"a": "b"}}})
    await finalize(api, ["example.com/x"], annotations={"c": "d"}, generateName="q-")
    made = await api.get("namespaces", "a")
    assert made["metadata"]["labels"] == {NAME: "a"}
    assert made["metadata"]["annotations"] == {"c": "d"}
    assert made["metadata"]["generateName"] == "q-"
    assert made["spec"] == {"finalizers": ["example.com/x"]}
    assert made["status"] == {"phase": "Active"}
    assert (await finalize(api, []))["spec"] == {}


@pytest.mark.parametrize("finalizer", ["two words", "nodomain", "a/b/c", ""])
async def test_finalizers_have_names(api, finalizer):
    await api.create("namespaces", {"metadata": {"name": "a"}})
    with pytest.raises(errors.Invalid, match=r"spec\.finalizers"):
        await finalize(api, ["kubernetes", finalizer])


async def test_metadata_is_judged(api):
    made = await api.create("namespaces", {"metadata": {"name": "a", "finalizers": ["example.com/m"]}})
    with pytest.raises(errors.Invalid, match=r"metadata\.labels"):
        await finalize(api, ["kubernetes"], labels={"two words": ""})
    with pytest.raises(errors.Conflict, match="UID in precondition"):
        await finalize(api, ["kubernetes"], uid="another")
    await api.delete("namespaces", "a")
    with pytest.raises(errors.Invalid, match="no new finalizers can be added"):
        await finalize(api, ["kubernetes"], finalizers=["example.com/m", "example.com/n"])
    assert (await finalize(api, ["kubernetes"], uid=made["metadata"]["uid"]))["spec"]


async def test_a_namespace_goes_with_the_last_of_its_finalizers(api):
    await api.create("namespaces", {"metadata": {"name": "a", "finalizers": ["example.com/m"]}})
    await finalize(api, ["example.com/x"], finalizers=["example.com/m"])
    await api.delete("namespaces", "a")
    await finalize(api, ["example.com/x"])
    await finalize(api, [])
    with pytest.raises(errors.NotFound):
        await api.get("namespaces", "a")

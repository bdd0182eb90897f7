"""Parameters of admission policies: nobody has a policy read for them what they may not read."""

import pytest
from tests.apiserver.requests.conftest import Api, api, server

from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.errors import Invalid
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

__all__ = ["api", "server"]

GROUP, RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
VALIDATIONS = {"validations": [{"expression": "true", "messageExpression": "string(params.data['key'])"}]}
PATCH = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/x', value: '1'}]"}}
SORTS = {"validating": VALIDATIONS, "mutating": {"mutations": [PATCH], "reinvocationPolicy": "Never"}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
EVE = UserInfo("eve", ("system:authenticated",))
SECRET = {"name": "s", "namespace": "default", "parameterNotFoundAction": "Deny"}
ALL = {"selector": {}, "parameterNotFoundAction": "Deny"}


def policy(sort: str, kind: str = "Secret", version: str = "v1"):
    spec = {"paramKind": {"apiVersion": version, "kind": kind}, "matchConstraints": {"resourceRules": [RULE]}}
    return {"metadata": {"name": "p"}, "spec": spec | SORTS[sort]}


def binding(sort: str, reference, of: str = "p"):
    spec = {"policyName": of, "paramRef": reference}
    return {"metadata": {"name": "b"}, "spec": spec | ({"validationActions": ["Warn"]} if sort == "validating" else {})}


async def write(client: Api, plural: str, body, verb: Verb = Verb.CREATE) -> None:
    patch = PatchType.MERGE if verb is Verb.PATCH else None
    name = "" if verb is Verb.CREATE else body["metadata"]["name"]
    type_ = GroupVersionResource(GROUP, "v1", plural)
    await client.transport.send(Request(verb, type_, name=name, body=body, patch_type=patch))


async def grant(api: Api, name: str, *rules) -> None:
    """Let eve do something everywhere."""
    bound = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "eve", "apiGroup": RBAC}],
    }
    for plural, body in (("clusterroles", {"rules": [*rules]}), ("clusterrolebindings", bound)):
        type_ = GroupVersionResource(RBAC, "v1", plural)
        await api.transport.send(Request(Verb.CREATE, type_, body={"metadata": {"name": name}, **body}))


def may(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()):
    return {"apiGroups": [group], "resources": [resource], "verbs": [*verbs], "resourceNames": [*names]}


@pytest.fixture
async def eve(api: Api) -> Api:
    await grant(api, "policies", may(GROUP, "*", "create", "patch"))
    return Api(api.server, EVE)


@pytest.mark.parametrize("sort", SORTS)
async def test_who_may_not_read_all_objects_of_a_kind_writes_no_policy_about_them(api, eve, sort):
    await grant(api, "one", may("", "secrets", "get", names=("s",)))
    policies = f"{sort}admissionpolicies"
    with pytest.raises(Invalid, match='paramKind: Forbidden: user eve must have "get" permission on all objects'):
        await write(eve, policies, policy(sort))
    await write(api, policies, policy(sort, "ConfigMap"))
    kind = {"metadata": {"name": "p"}, "spec": {"paramKind": {"apiVersion": "v1", "kind": "Secret"}}}
    with pytest.raises(Invalid, match=r"kind=Secret, apiVersion=v1"):
        await write(eve, policies, kind, Verb.PATCH)
    await write(eve, policies, {"metadata": {"name": "p"}, "spec": {"failurePolicy": "Ignore"}}, Verb.PATCH)
    await grant(api, "all", may("", "secrets", "get"))
    await write(eve, policies, kind, Verb.PATCH)


@pytest.mark.parametrize("sort", SORTS)
async def test_a_kind_that_is_not_served_needs_the_right_to_its_group(api, eve, sort):
    await grant(api, "some", may("x.example.com", "things", "get"))
    with pytest.raises(Invalid, match="Forbidden"):
        await write(eve, f"{sort}admissionpolicies", policy(sort, "Thing", "x.example.com/v1"))
    await grant(api, "all", may("x.example.com", "*", "get"))
    await write(eve, f"{sort}admissionpolicies", policy(sort, "Thing", "x.example.com/v1"))


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize(("reference", "verb"), [(SECRET, "get"), (ALL, "list")])
async def test_who_may_not_read_parameters_puts_no_policy_into_force_with_them(api, eve, sort, reference, verb):
    await write(api, f"{sort}admissionpolicies", policy(sort))
    bindings = f"{sort}admissionpolicybindings"
    with pytest.raises(Invalid, match=f'paramRef: Forbidden: user eve does not have "{verb}" permission on the object'):
        await write(eve, bindings, binding(sort, reference))
    await grant(api, "secrets", may("", "secrets", verb, names=("s",) if verb == "get" else ()))
    await write(eve, bindings, binding(sort, reference))
    other = {"metadata": {"name": "b"}, "spec": {"policyName": "another"}}
    with pytest.raises(Invalid, match="for all groups, versions and resources"):
        await write(eve, bindings, other, Verb.PATCH)


@pytest.mark.parametrize("sort", SORTS)
async def test_a_binding_to_a_policy_that_is_not_there_needs_the_right_to_everything(api, eve, sort):
    await grant(api, "secrets", may("", "secrets", "get"))
    with pytest.raises(Invalid, match="for all groups, versions and resources"):
        await write(eve, f"{sort}admissionpolicybindings", binding(sort, SECRET))
    await write(api, f"{sort}admissionpolicybindings", binding(sort, SECRET))

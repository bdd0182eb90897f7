from dataclasses import replace

import pytest

from karmada.apiserver.auth.authentication import Authenticator
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.auth.reviews import (
    ReviewContext,
    local_subject_access_review,
    self_subject_review,
    self_subject_rules_review,
    subject_access_review,
    token_review,
)
from karmada.apiserver.auth.token_request import TokenRequestContext, create_token
from karmada.machinery.httpserver.failure import Failure

HEAD = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}


@pytest.fixture
def context(tokens):
    rbac = RbacAuthorizer()
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]
    rbac.put("roles", {"metadata": {"name": "r", "namespace": "ns"}, "rules": rules})
    subjects = [{"kind": "User", "name": "u"}]
    reference = {"kind": "Role", "name": "r"}
    metadata = {"name": "b", "namespace": "ns"}
    rbac.put("rolebindings", {"metadata": metadata, "roleRef": reference, "subjects": subjects})
    chain = Authenticator(accounts=tokens)
    user = UserInfo("u", ("system:authenticated",), extra={"k": ("v",)})
    return ReviewContext(user, "ns", rbac, rbac, chain, tokens.audiences, "2027-01-01T00:00:00Z")


def test_access_is_answered_with_the_reason(context):
    request = {"verb": "get", "resource": "configmaps", "group": "", "namespace": "ns"}
    answer = subject_access_review({**HEAD, "spec": {"user": "u", "resourceAttributes": request}}, context)
    assert answer == {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {
            "user": "u",
            "resourceAttributes": {"verb": "get", "resource": "configmaps", "namespace": "ns"},
        },
        "status": {"allowed": True, "reason": 'RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "u"'},
    }


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"user": "u"}, ["spec.resourceAttributes"]),
        (
            {"user": "u", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/"}},
            ["spec.nonResourceAttributes"],
        ),
        ({"resourceAttributes": {"verb": "get"}}, ["spec.user"]),
        (
            {"user": "u", "resourceAttributes": {"verb": "get", "labelSelector": {}}},
            ["spec.resourceAttributes.labelSelector.requirements"],
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {
                    "fieldSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}
                },
            },
            ["spec.resourceAttributes.fieldSelector.rawSelector"],
        ),
    ],
)
def test_incomplete_questions_are_invalid(context, spec, fields):
    with pytest.raises(Failure) as failure:
        subject_access_review({**HEAD, "spec": spec}, context)
    assert [cause["field"] for cause in failure.value.details["causes"]] == fields


@pytest.mark.parametrize(("resources", "allowed"), [(["*"], True), (["pods"], False)])
def test_who_may_use_all_resources_may_use_one_without_a_name(context, resources, allowed):
    rules = [{"verbs": ["*"], "apiGroups": [""], "resources": resources}]
    context.authorizer.put("roles", {"metadata": {"name": "r", "namespace": "ns"}, "rules": rules})
    spec = {"user": "u", "resourceAttributes": {"verb": "get", "namespace": "ns"}}
    assert subject_access_review({**HEAD, "spec": spec}, context)["status"]["allowed"] is allowed


def test_a_local_review_stays_in_its_namespace(context):
    request = {"verb": "get", "resource": "configmaps", "namespace": "default"}
    obj = {**HEAD, "metadata": {"namespace": "ns"}, "spec": {"user": "u", "resourceAttributes": request}}
    with pytest.raises(Failure) as failure:
        local_subject_access_review(obj, context)
    assert failure.value.message == (
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: '
        'Invalid value: "default": must match metadata.namespace'
    )
    assert failure.value.details["group"] == "authorization.k8s.io"


def test_rules_of_oneself(context):
    answer = self_subject_rules_review({**HEAD, "spec": {"namespace": "ns"}}, context)
    assert answer["status"] == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}],
        "nonResourceRules": [],
        "incomplete": False,
    }


def test_who_may_do_everything_is_told_so_once(context):
    rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    context.rbac.put("clusterroles", {"metadata": {"name": "all"}, "rules": rules})
    reference, subjects = {"kind": "ClusterRole", "name": "all"}, [{"kind": "Group", "name": "system:masters"}]
    binding = {"metadata": {"name": "all"}, "roleRef": reference, "subjects": subjects}
    context.rbac.put("clusterrolebindings", binding)
    master = replace(context, user=UserInfo("m", ("system:masters",)))
    status = self_subject_rules_review({**HEAD, "spec": {"namespace": "ns"}}, master)["status"]
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert status["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


def test_oneself(context):
    answer = self_subject_review({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}, context)
    assert answer["status"]["userInfo"] == {
        "username": "u",
        "groups": ["system:authenticated"],
        "extra": {"k": ["v"]},
    }


def test_tokens_are_made_and_reviewed(context, tokens, objects, clock):
    objects.put("serviceaccounts", "ns", "sa")
    request = {"spec": {"audiences": ["a", "b"], "expirationSeconds": 600}}
    made = create_token("ns", "sa", request, TokenRequestContext(tokens, objects, clock.now))
    assert made["spec"] == {"audiences": ["a", "b"], "expirationSeconds": 600, "boundObjectRef": None}
    assert made["status"]["expirationTimestamp"] == "2027-01-15T08:10:00Z"
    spec = {"token": made["status"]["token"], "audiences": ["b", "c"]}
    status = token_review({**HEAD, "spec": spec}, context)["status"]
    assert (status["authenticated"], status["audiences"]) == (True, ["b"])
    assert status["user"]["username"] == "system:serviceaccount:ns:sa"
    other = token_review({**HEAD, "spec": {"token": spec["token"]}}, context)["status"]
    assert "authenticated" not in other
    assert "is invalid for the target audiences" in other["error"]
    bad = token_review({**HEAD, "spec": {"token": "x"}}, context)["status"]
    assert bad == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            {"expirationSeconds": 5},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
            "Invalid value: 5: may not specify a duration less than 10 minutes",
        ),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "nosuch"}},
            404,
            'pods "nosuch" not found',
        ),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}},
            400,
            'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
        ),
        (
            {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
        ),
    ],
)
def test_token_requests_that_are_refused(tokens, objects, clock, spec, code, message):
    objects.put("serviceaccounts", "ns", "sa")
    objects.put("pods", "ns", "p", spec={"serviceAccountName": "other"})
    with pytest.raises(Failure) as failure:
        create_token("ns", "sa", {"spec": spec}, TokenRequestContext(tokens, objects, clock.now))
    assert (failure.value.code, failure.value.message) == (code, message)

"""Our own claims are distinguished from other changes, and a policy finds what no cache links to it yet."""

import pytest

from karmada.api.work.v1alpha2 import ObjectReference
from karmada.controllers.detector.fresh_claims import FreshClaims
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.machinery.transport import GroupVersionResource

WEB = TemplateKey(GroupVersionResource("apps", "v1", "deployments"), "apps/v1", "Deployment", "default", "web")
REFERENCE = ObjectReference(api_version="apps/v1", kind="Deployment", namespace="default", name="web")


def test_the_change_that_a_claim_makes_is_ours_and_no_other():
    fresh = FreshClaims()
    with fresh.claiming(WEB, "id"):
        assert not fresh.claimed(WEB, "7")
    assert fresh.is_own(WEB, "7")
    assert not fresh.is_own(WEB, "8")


def test_a_change_seen_before_the_claim_is_answered_is_taken_for_ours():
    fresh = FreshClaims()
    with fresh.claiming(WEB, "id"):
        assert fresh.is_own(WEB, "7")
        assert not fresh.claimed(WEB, "7")
    assert not fresh.is_own(WEB, "7")


@pytest.mark.parametrize("version", ["7", ""], ids=["written", "had the claim already"])
def test_a_change_wrongly_taken_for_ours_has_the_template_looked_at_again(version):
    fresh = FreshClaims()
    with fresh.claiming(WEB, "id"):
        assert fresh.is_own(WEB, "6")
        assert fresh.claimed(WEB, version)


def test_a_policy_finds_its_templates_until_the_cache_shows_their_bindings_with_its_claim():
    fresh = FreshClaims()
    with fresh.claiming(WEB, "id"):
        fresh.claimed(WEB, "7")
    fresh.bound(REFERENCE, ["another"])
    assert fresh.of_policy("id") == [WEB]
    assert fresh.is_unbound(WEB, "id")
    fresh.bound(REFERENCE, ["id"])
    assert fresh.of_policy("id") == []


@pytest.mark.parametrize("deleted", [False, True], ids=["released", "deleted"])
def test_a_template_that_is_gone_or_free_is_nobodys(deleted):
    fresh = FreshClaims()
    with fresh.claiming(WEB, "id"):
        fresh.claimed(WEB, "7")
    if deleted:
        fresh.gone(WEB)
    else:
        fresh.released(WEB, "id")
    assert fresh.of_policy("id") == []


def test_a_template_that_another_policy_claimed_while_the_first_let_go_is_the_others():
    fresh = FreshClaims()
    with fresh.claiming(WEB, "next"):
        fresh.claimed(WEB, "7")
    fresh.released(WEB, "id")
    assert fresh.of_policy("next") == [WEB]

"""What the answers of admission webhooks mean."""

import base64

import orjson
import pytest

from karmada.apiserver.admission.reviews import Verdict, denied, verdict

PATCH = base64.b64encode(b'[{"op": "add", "path": "/a", "value": 1}]').decode()


def answer(version: str, **response: object) -> bytes:
    body = {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "response": response}
    return orjson.dumps(body)


@pytest.mark.parametrize(("expected", "code"), [(None, 400), (200, 400), (399, 400), (418, 418)])
def test_a_refusal_is_never_answered_with_success(expected, code):
    status = {"message": "no"} | ({"code": expected} if expected else {})
    assert denied("h", Verdict(False, status, [], [], {})).code == code


@pytest.mark.parametrize(("mutating", "patch"), [(False, []), (True, [{"op": "add", "path": "/a", "value": 1}])])
def test_patches_of_the_old_version_need_no_type_and_are_ignored_where_nothing_is_changed(mutating, patch):
    assert verdict(answer("v1beta1", allowed=True, patch=PATCH), "u", "v1beta1", mutating).patch == patch

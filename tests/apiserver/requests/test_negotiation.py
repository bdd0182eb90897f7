"""In which form an answer is written."""

import pytest

from karmada.apiserver.requests.negotiation import JSON, Form, View, negotiate
from karmada.machinery.httpserver.failure import Failure


@pytest.mark.parametrize(
    ("accept", "view"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        ("application/vnd.kubernetes.protobuf,application/json", JSON),
        ("text/plain, application/json;q=0.9", JSON),
        ("application/yaml", View(yaml=True)),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", View(Form.TABLE)),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", View(Form.TABLE, "v1beta1")),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", View(Form.METADATA)),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", JSON),
        ("application/yaml;q=0.1,application/json", JSON),
    ],
)
def test_the_first_understood_form_wins(accept, view):
    assert negotiate(accept, collection=False) == view


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ("application/xml", "406: Not Acceptable\n\nAvailable representations: "),
        ("application/*", "406: Not Acceptable\n\nAvailable representations: "),
        ("application/json;as=Nope;g=meta.k8s.io;v=v1", "only the following media types are accepted: "),
    ],
)
def test_nothing_understood_is_refused(accept, message):
    with pytest.raises(Failure) as refused:
        negotiate(accept, collection=False)
    assert refused.value.code == 406
    assert refused.value.message.startswith(message)

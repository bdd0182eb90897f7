"""Image names taken apart, put together, and given another version."""

from typing import Any

import pytest

from karmada.overrides.image_name import ImageName, ImageNameError, parse_image
from karmada.overrides.pods import containers

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nginx", ImageName("", "nginx")),
        ("library/nginx:1.2", ImageName("", "library/nginx", "1.2")),
        ("example.com/a/b:1", ImageName("example.com", "a/b", "1")),
        ("host:5000/a", ImageName("host:5000", "a")),
        ("localhost/a", ImageName("localhost", "a")),
        (f"nginx@{DIGEST}", ImageName("", "nginx", "", DIGEST)),
    ],
)
def test_a_name_is_taken_apart_and_put_together_again(text: str, expected: ImageName) -> None:
    assert parse_image(text) == expected
    assert str(parse_image(text)) == text


def test_the_version_is_the_tag_or_else_the_digest() -> None:
    assert parse_image("nginx:1").version == "1"
    assert parse_image(f"nginx@{DIGEST}").version == DIGEST
    assert parse_image("nginx").version == ""


def test_another_version_takes_the_place_of_either_and_nonsense_changes_nothing() -> None:
    tagged, pinned = parse_image("nginx:1"), parse_image(f"nginx@{DIGEST}")

    assert str(pinned.with_version("2")) == "nginx:2"
    assert str(tagged.with_version(DIGEST)) == f"nginx@{DIGEST}"
    assert tagged.with_version("no version!") is tagged


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one component"),
        ("Nginx", "must be lowercase"),
        ("a b", "invalid reference format"),
        ("a/" * 127 + "ab", "more than 255 characters"),
    ],
)
def test_what_is_no_image_name_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ImageNameError, match=message):
        parse_image(text)
    assert parse_image("a/" * 127 + "a").repository


@pytest.mark.parametrize(
    "resource", [{"kind": "ConfigMap"}, {"kind": "Pod"}, {"kind": "Job", "spec": {"template": {"spec": {}}}}]
)
def test_what_has_no_containers_has_an_empty_list_of_them(resource: dict[str, Any]) -> None:
    assert containers(resource) == []


BAD_DIGESTS = {
    "unknown algorithm": ("md5:" + "ab" * 32, "unsupported digest algorithm"),
    "length of another algorithm": ("sha512:" + "ab" * 32, "length"),
    "capital letters": ("sha256:" + "AB" * 32, "format"),
}


@pytest.mark.parametrize(("algorithm", "digits"), [("sha256", 64), ("sha384", 96), ("sha512", 128)])
def test_digests_of_all_algorithms_are_known_by_their_length(algorithm: str, digits: int) -> None:
    digest = f"{algorithm}:{'a' * digits}"
    assert parse_image(f"nginx@{digest}").digest == digest


@pytest.mark.parametrize(("digest", "complaint"), BAD_DIGESTS.values(), ids=BAD_DIGESTS.keys())
def test_a_digest_that_no_registry_has_is_refused(digest: str, complaint: str) -> None:
    with pytest.raises(ImageNameError, match=complaint):
        parse_image(f"registry.example.com/team/app@{digest}")

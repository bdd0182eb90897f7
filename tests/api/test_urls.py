"""Passwords in URLs are not for messages."""

import pytest

from karmada.api.urls import masked


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:hunter2@host/path", "https://user:xxxxx@host/path"),
        ("https://user@host:8080/a:b@c", "https://user@host:8080/a:b@c"),
        ("ftp://a@b:hunter2@host", "ftp://a@b:xxxxx@host"),
        ("https://:hunter2@host:no", "https://:xxxxx@host:no"),
        ("no URL", "no URL"),
    ],
)
def test_a_password_is_masked(url: str, shown: str) -> None:
    assert masked(url) == shown

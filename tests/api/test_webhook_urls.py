"""What the URL of a webhook may be, and the words about one that may not."""

import pytest

from karmada.api.webhook_urls import url_errors

FORM = "desired format: https://host[/path]"
SCHEME = f"'https' is the only allowed URL scheme; {FORM}"
NO_URL = "Required value: url must be a valid URL: parse"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("HTTPS://h", [], id="right"),
        pytest.param("https://h/x y", [], id="a path with a space"),
        pytest.param("https://[::1]:5/", [], id="an address"),
        pytest.param(
            "", [f'Invalid value: "": {SCHEME}', f'Invalid value: "": host must be specified; {FORM}'], id="empty"
        ),
        pytest.param("http://h", [f'Invalid value: "http": {SCHEME}'], id="no TLS"),
        pytest.param(
            "http://u@h?x#f",
            [
                f'Invalid value: "http": {SCHEME}',
                'Invalid value: "u": user information is not permitted in the URL',
                'Invalid value: "f": fragments are not permitted in the URL',
                'Invalid value: "x": query parameters are not permitted in the URL',
            ],
            id="too much",
        ),
        pytest.param(
            "https://u:hunter2@h/",
            ['Invalid value: "u:xxxxx": user information is not permitted in the URL'],
            id="a password",
        ),
        pytest.param(
            "https://u:hunter2@h:x/",
            [f'{NO_URL} "https://u:xxxxx@h:x/": invalid port ":x" after host; {FORM}'],
            id="a password in what is no URL",
        ),
        *(
            pytest.param(url, [f'{NO_URL} "{url}": {problem}; {FORM}'], id=problem)
            for url, problem in (
                (":", "missing protocol scheme"),
                ("1https://h", "first path segment in URL cannot contain colon"),
                ("https://[::1/", "missing ']' in host"),
            )
        ),
        *(
            pytest.param(url, [f'{NO_URL} "{url}": invalid host or port; {FORM}'], id=f"nobody at {url}")
            for url in ("https://h:99999/", "https://[h]/", "https://h]/", "https://\u2100/")
        ),
        pytest.param(
            "https://h:1:2/",
            [f'{NO_URL} "https://h:1:2/": invalid port ":1:2" after host; {FORM}'],
            id="two ports",
        ),
        pytest.param(
            "https://h/%zz",
            [f'{NO_URL} "https://h/%zz": invalid URL escape "%zz"; {FORM}'],
            id="a bad escape",
        ),
    ],
)
def test_the_url_of_a_webhook(url: str, expected: list[str]) -> None:
    assert [str(error) for error in url_errors(url, "url")] == [f"url: {text}" for text in expected]

"""Fixed bearer tokens of administrators, from the command line or a token file (`token,user,uid,"group1,group2"`)."""

import csv
import hashlib
from collections.abc import Mapping

from karmada.apiserver.auth.certificates import with_authenticated
from karmada.apiserver.auth.model import UserInfo


class StaticTokens:
    """Looks tokens up by their digest, so that timing says nothing about them."""

    def __init__(self, tokens: Mapping[str, UserInfo]) -> None:
        self._users = {_digest(token): user for token, user in tokens.items()}

    @classmethod
    def parse(cls, text: str) -> "StaticTokens":
        """From the text of a token file."""
        tokens: dict[str, UserInfo] = {}
        for number, row in enumerate(csv.reader(text.splitlines()), 1):
            if not row or not row[0].strip():
                continue
            if len(row) < 3:
                raise ValueError(f"line {number} of the token file needs at least token, user and uid")
            groups = [group.strip() for group in row[3].split(",")] if len(row) > 3 else []
            tokens[row[0].strip()] = UserInfo(
                row[1].strip(), with_authenticated(list(filter(None, groups))), row[2].strip()
            )
        return cls(tokens)

    def authenticate(self, token: str) -> UserInfo | None:
        """The identity of a token; None when it is not one of these."""
        return self._users.get(_digest(token))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()

"""`karmadactl token`: the tokens with which clusters register."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli import tokens
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

SECRETS = GroupVersionResource("", "v1", "secrets")
SPACE = "kube-system"
GROUP = "system:bootstrappers:karmada:default-cluster-token"


async def create(session: Session, flags: Values) -> None:
    """Make a token."""
    import time

    hub = session.hub(flags)
    token = tokens.Token.random()
    expires = time.time() + flags.ttl if flags.ttl else None
    secret = tokens.secret(token, SPACE, flags.usages, flags.groups, flags.description, expires)
    await hub.client.resource(SECRETS).create(secret)
    if flags.print_register_command:
        authority = tokens.key_hash(hub.target.authority.read())
        address = hub.target.server.partition("://")[2]
        trust = f"--discovery-token-ca-cert-hash {authority}"
        session.print(f"karmadactl register {address} --token {token} {trust}")
    else:
        session.print(str(token))


async def show(session: Session, flags: Values) -> None:
    """List tokens."""
    import time

    scope = Scope(SPACE, fields=f"type={tokens.TYPE}")
    found: list[dict[str, Any]] = (await session.hub(flags).client.resource(SECRETS).list(scope)).items
    ordered = sorted(found, key=lambda secret: str(secret["metadata"]["name"]))
    header = ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"]
    session.out.write(aligned([header, *(tokens.row(secret, time.time()) for secret in ordered)]))


async def delete(session: Session, flags: Values) -> None:
    """Remove tokens."""
    if not flags.arguments:
        raise CommandError("missing argument; 'token delete' is missing token of form \"[a-z0-9]{6}\"")
    for word in flags.arguments:
        identifier = tokens.identifier(word)
        name = f"bootstrap-token-{identifier}"
        try:
            await session.hub(flags).client.resource(SECRETS).delete(name, SPACE)
        except NotFound as error:
            raise CommandError(f'failed to delete secret "{name}", err: {error}') from None
        session.print(f'bootstrap token "{identifier}" deleted')


COMMAND = Command(
    "token",
    "",
    "Manage the tokens with which clusters register (Pull mode).",
    subcommands=(
        Command(
            "token create",
            "",
            "Make a token and print it.",
            create,
            (
                *common.CONNECTION,
                Flag("description", "", "What the token is for."),
                Flag("groups", [GROUP], "Groups that holders of the token belong to."),
                Flag("print-register-command", False, "Print the whole command to run against the new member."),
                common.waiting("ttl", 86400.0, "How long the token is good; 0 means for ever."),
                Flag("usages", ["signing", "authentication"], "What the token may be used for."),
            ),
            examples="karmadactl token create --print-register-command",
        ),
        Command("token list", "", "List the tokens.", show, common.CONNECTION),
        Command("token delete", "[token-value] ...", "Remove tokens, by id or in full.", delete, common.CONNECTION),
    ),
)

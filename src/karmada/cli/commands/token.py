"""`karmadactl token`: the tokens with which clusters register."""

import time
from typing import TYPE_CHECKING

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session

if TYPE_CHECKING:
    from karmada.membership.agent_grant import Grant

GROUP = "system:bootstrappers:karmada:default-cluster-token"
HEADER = ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"]
NONE = "<none>"


async def create(session: Session, flags: Values) -> None:
    """Make a token."""
    from karmada.membership import token as tokens

    hub = session.hub(flags)
    token = tokens.new_token()
    await tokens.create(
        hub.client,
        token,
        ttl=flags.ttl,
        usages=flags.usages,
        groups=flags.groups,
        description=flags.description,
        grant=_grant(flags),
    )
    if not flags.print_register_command:
        session.print(str(token))
        return
    authority = hub.target.authority.read()
    if not authority:
        raise CommandError("the kubeconfig names no certificate authority: new members could not trust the server")
    session.print(tokens.register_command(hub.target.server, token, authority))


def _grant(flags: Values) -> "Grant":
    from karmada.membership.agent_grant import Grant, parse_labels

    return Grant(
        flags.registrations,
        flags.cluster_names,
        flags.certificate_seconds,
        flags.allow,
        parse_labels(flags.cluster_labels),
    )


async def show(session: Session, flags: Values) -> None:
    """List tokens."""
    from karmada.api.duration import human
    from karmada.machinery.clock import rfc3339
    from karmada.membership.token import list_tokens

    rows = [HEADER]
    for info in await list_tokens(session.hub(flags).client):
        left = None if info.expires is None else info.expires - time.time()
        rows.append(
            [
                str(info.token),
                "<forever>" if left is None else human(left) if left > 0 else "<invalid>",
                "<never>" if info.expires is None else rfc3339(info.expires),
                ",".join(info.usages) or NONE,
                info.description or NONE,
                ",".join(info.groups) or NONE,
            ]
        )
    session.out.write(aligned(rows))


async def delete(session: Session, flags: Values) -> None:
    """Remove tokens."""
    from karmada.membership.token import delete as forget

    if not flags.arguments:
        raise CommandError("missing argument; 'token delete' is missing token of form \"[a-z0-9]{6}\"")
    for word in flags.arguments:
        session.print(f'bootstrap token "{await forget(session.hub(flags).client, word)}" deleted')


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
                Flag(
                    "allow",
                    [],
                    "Fields of its Cluster that whoever registers may choose: apiEndpoint, provider, proxyURL, region, "
                    "resourceModels, taints, zones.",
                ),
                Flag("certificate-seconds", 86400, "How long the first certificate of an agent may last."),
                Flag("cluster-labels", [], "Labels that a Cluster gets which registers: key=value."),
                Flag("cluster-names", [], "Names under which clusters may register; any if left out."),
                Flag("description", "", "What the token is for."),
                Flag("groups", [GROUP], "Groups that holders of the token belong to."),
                Flag("print-register-command", False, "Print the whole command to run against the new member."),
                Flag("registrations", 1, "How many clusters may register."),
                common.waiting("ttl", 86400.0, "How long the token is good; 0 means for ever."),
                Flag("usages", ["signing", "authentication"], "What the token may be used for."),
            ),
            examples="karmadactl token create --print-register-command",
        ),
        Command("token list", "", "List the tokens.", show, common.CONNECTION, examples="karmadactl token list"),
        Command(
            "token delete",
            "[token-value] ...",
            "Remove tokens, by id or in full.",
            delete,
            common.CONNECTION,
            examples="karmadactl token delete abcdef",
        ),
    ),
)

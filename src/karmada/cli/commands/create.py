"""`karmadactl create`: from files, or from arguments for common kinds."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli import generators as make
from karmada.cli.command import Command, Run
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import NOTHING_NAMED, NoMapping
from karmada.cli.session import Session
from karmada.cli.writing import Named, checked, dry_run, from_files, in_place, print_outcome, refused

JSONObject = dict[str, Any]


async def run(session: Session, flags: Values) -> int:
    """Create what is in files. What fails does not keep the rest from being created."""
    if flags.raw:
        from karmada.cli.files import read_text

        text = session.stdin.read() if flags.filename == ["-"] else read_text(flags.filename[0])
        session.out.write((await session.hub(flags).transport.raw("POST", flags.raw, text.encode())).decode())
        return 0
    if flags.arguments:
        raise CommandError(f'unknown kind "{flags.arguments[0]}": see karmadactl create --help, or use -f FILE')
    if not flags.filename and not flags.kustomize:
        raise CommandError(NOTHING_NAMED)
    if flags.edit:
        raise CommandError("--edit is not supported: edit the file first")
    from karmada.machinery.errors import ApiError

    hub = session.hub(flags)
    unknown: list[NoMapping] = []
    wanted = await checked(hub, flags, await from_files(hub, flags, unknown))
    failed = bool(unknown)
    for one in wanted:
        try:
            await _create(session, flags, one)
        except ApiError as error:
            if not error.status:
                raise
            failed = True
            await refused(session, hub, one, error, "creating")
    for each in unknown:
        session.warn(f"error: {each}")
    return int(failed)


async def _create(session: Session, flags: Values, one: Named) -> None:
    dry = dry_run(flags)
    item = one.given or {}
    if getattr(flags, "save_config", False):
        from karmada.api.client_apply import remember

        item = remember(item)
    if not dry.client:
        item = await one.resource(session.hub(flags), flags).create(item, one.namespace, dry_run=dry.server)
        one = Named(one.kind, one.namespace, item["metadata"]["name"], item)
    print_outcome(session, flags, one, "created", item)


def _made(maker: Any, words: int = 1) -> Run:
    """A command that makes one object from its arguments."""

    async def run(session: Session, flags: Values) -> None:
        if len(flags.arguments) != words:
            raise CommandError(f"exactly one NAME is required, got {len(flags.arguments)}")
        item = maker(flags.arguments[0], flags)
        await _create(session, flags, await in_place(session.hub(flags), flags, item))

    return run


async def token(session: Session, flags: Values) -> None:
    """Ask for a token of a service account."""
    if len(flags.arguments) != 1:
        raise CommandError("exactly one service account is required")
    hub = session.hub(flags)
    spec: JSONObject = {}
    if flags.audience:
        spec["audiences"] = flags.audience
    if flags.duration:
        spec["expirationSeconds"] = int(flags.duration)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    namespace = flags.namespace or hub.target.namespace
    answer = await hub.resource("", "v1", "serviceaccounts").submit(flags.arguments[0], "token", body, namespace)
    session.print(answer["status"]["token"])


_SHARED = (
    *common.CONNECTION,
    common.NAMESPACE,
    *common.PRINTING,
    common.DRY_RUN,
    Flag("field-manager", "kubectl-create", common.FIELD_MANAGER_HELP),
    Flag("save-config", False, "Keep the object in its annotation for apply."),
    common.VALIDATE,
)
_DATA = (
    Flag("from-literal", [], "KEY=VALUE.", repeated=True),
    Flag("from-file", [], "[KEY=]FILE or a directory.", repeated=True),
    Flag("from-env-file", [], "A file with KEY=VALUE lines.", repeated=True),
)
_RULES = (
    Flag("verb", [], "Verbs: get,list,watch."),
    Flag("resource", [], "Resources: pods,deployments.apps."),
    Flag("resource-name", [], "Names of objects.", repeated=True),
)
_SUBJECTS = (
    Flag("clusterrole", "", "The ClusterRole."),
    Flag("user", [], "Users.", repeated=True),
    Flag("group", [], "Groups.", repeated=True),
    Flag("serviceaccount", [], "Service accounts, as NAMESPACE:NAME.", repeated=True),
)
_TCP = Flag("tcp", [], "Ports: PORT or PORT:TARGET.")


def _sub(name: str, about: str, maker: Any, *flags: Flag, example: str, aliases: tuple[str, ...] = ()) -> Command:
    """`example` is what follows the name of the command."""
    examples = f"karmadactl create {name} {example}"
    return Command(
        f"create {name}", "NAME", about, _made(maker), (*_SHARED, *flags), examples=examples, aliases=aliases
    )


_SECRETS = (
    _sub(
        "secret generic",
        "Make a Secret from literals and files.",
        make.secret,
        *_DATA,
        Flag("type", "", "Its type."),
        example="shop --from-literal=password=s3cret",
    ),
    _sub(
        "secret tls",
        "Make a Secret from a certificate and its key.",
        make.tls_secret,
        Flag("cert", "", "File with the certificate."),
        Flag("key", "", "File with the key."),
        example="shop --cert=tls.crt --key=tls.key",
    ),
    _sub(
        "secret docker-registry",
        "Make a Secret for a registry of images.",
        make.registry_secret,
        Flag("docker-server", "https://index.docker.io/v1/", "Address of the registry."),
        Flag("docker-username", "", "User."),
        Flag("docker-password", "", "Password."),
        Flag("docker-email", "", "E-mail address."),
        example="shop --docker-server=registry.example.com --docker-username=jo --docker-password=s3cret",
    ),
)
_SERVICES = (
    _sub(
        "service clusterip",
        "Make a Service inside the cluster.",
        make.service("ClusterIP"),
        _TCP,
        Flag("clusterip", "", "Its address, or None."),
        example="shop --tcp=80:8080",
    ),
    _sub(
        "service nodeport",
        "Make a Service on a port of every node.",
        make.service("NodePort"),
        _TCP,
        Flag("node-port", 0, "The port."),
        example="shop --tcp=80 --node-port=30080",
    ),
    _sub(
        "service loadbalancer",
        "Make a Service with a load balancer.",
        make.service("LoadBalancer"),
        _TCP,
        example="shop --tcp=80:8080",
    ),
    _sub(
        "service externalname",
        "Make a Service that is another name.",
        make.service("ExternalName"),
        _TCP,
        Flag("external-name", "", "The name."),
        example="shop --external-name=shop.example.com",
    ),
)

COMMAND = Command(
    "create",
    "-f FILENAME",
    "Create objects in the control plane, from files or from arguments.",
    run,
    (
        *_SHARED,
        *common.FILES,
        common.SELECTOR,
        Flag("edit", False, "Not supported."),
        Flag("raw", "", "A path to post to, as it is."),
        Flag("windows-line-endings", False, "Kept for scripts: lines end as everywhere else."),
    ),
    subcommands=(
        _sub(
            "clusterrole",
            "Make a ClusterRole.",
            make.cluster_role,
            *_RULES,
            Flag("non-resource-url", [], "Paths."),
            example="reader --verb=get,list,watch --resource=pods,deployments.apps",
        ),
        _sub(
            "clusterrolebinding",
            "Make a ClusterRoleBinding.",
            make.cluster_role_binding,
            *_SUBJECTS,
            example="readers --clusterrole=view --user=jo --group=team-a",
        ),
        _sub(
            "configmap",
            "Make a ConfigMap from literals and files.",
            make.config_map,
            *_DATA,
            example="shop --from-literal=colour=blue --from-file=shop.conf",
            aliases=("cm",),
        ),
        _sub(
            "cronjob",
            "Make a CronJob.",
            make.cron_job,
            Flag("image", "", "Image to run."),
            Flag("schedule", "", "When, as cron spells it."),
            Flag("restart", "OnFailure", "OnFailure or Never."),
            example="hello --image=busybox --schedule='*/5 * * * *' -- date",
            aliases=("cj",),
        ),
        _sub(
            "deployment",
            "Make a Deployment.",
            make.deployment,
            Flag("image", [], "Images to run.", repeated=True),
            Flag("port", 0, "Port of the containers."),
            Flag("replicas", 1, "How many.", "r"),
            example="shop --image=nginx --replicas=3",
            aliases=("deploy",),
        ),
        _sub(
            "ingress",
            "Make an Ingress.",
            make.ingress,
            Flag("class", "", "Its class."),
            Flag("rule", [], "host/path=service:port[,tls[=secret]].", repeated=True),
            example="shop --rule='shop.example.com/*=shop:80'",
            aliases=("ing",),
        ),
        _sub(
            "job",
            "Make a Job.",
            make.job,
            Flag("image", "", "Image to run."),
            Flag("restart", "Never", "OnFailure or Never."),
            example="hello --image=busybox -- date",
        ),
        _sub("namespace", "Make a Namespace.", make.namespace, example="team-a", aliases=("ns",)),
        _sub(
            "poddisruptionbudget",
            "Make a PodDisruptionBudget.",
            make.disruption_budget,
            Flag("selector", "", "Labels of the pods."),
            Flag("min-available", "", "How many must stay, or a percentage."),
            Flag("max-unavailable", "", "How many may be missing, or a percentage."),
            example="shop --selector=app=shop --min-available=50%",
            aliases=("pdb",),
        ),
        _sub(
            "priorityclass",
            "Make a PriorityClass.",
            make.priority_class,
            Flag("value", 0, "The priority."),
            Flag("global-default", False, "Whether pods without a class get it."),
            Flag("description", "", "What it is for."),
            Flag("preemption-policy", "PreemptLowerPriority", "PreemptLowerPriority or Never."),
            example="urgent --value=1000 --description='must run'",
            aliases=("pc",),
        ),
        _sub(
            "quota",
            "Make a ResourceQuota.",
            make.quota,
            Flag("hard", [], "NAME=AMOUNT."),
            Flag("scopes", [], "Scopes."),
            example="team-a --hard=cpu=8,pods=20",
        ),
        _sub("role", "Make a Role.", make.role, *_RULES, example="reader --verb=get,list --resource=pods -n team-a"),
        _sub(
            "rolebinding",
            "Make a RoleBinding.",
            make.role_binding,
            *_SUBJECTS,
            Flag("role", "", "The Role."),
            example="readers --role=reader --serviceaccount=team-a:robot -n team-a",
        ),
        Command("create secret", "", "Make a Secret.", subcommands=_SECRETS),
        Command("create service", "", "Make a Service.", subcommands=_SERVICES, aliases=("svc",)),
        _sub(
            "serviceaccount", "Make a ServiceAccount.", make.service_account, example="robot -n team-a", aliases=("sa",)
        ),
        Command(
            "create token",
            "SERVICE_ACCOUNT_NAME",
            "Ask for a token of a service account.",
            token,
            (
                *common.CONNECTION,
                common.NAMESPACE,
                Flag("audience", [], "For whom the token is.", repeated=True),
                common.waiting("duration", 0.0, "How long it is good; 0: as long as the server likes."),
            ),
            examples="karmadactl create token robot -n team-a --duration=1h",
        ),
    ),
    examples="""
karmadactl create -f deployment.yaml
karmadactl create deployment nginx --image=nginx --replicas=3
karmadactl create configmap settings --from-literal=a=1
""",
)

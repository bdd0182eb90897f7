"""Rights of components that no test uses, each with the reason why it is given all the same."""

from collections.abc import Iterator

from karmada.membership.component_roles import given_to_agents
from karmada.testing.rights import Right, granted

MANAGER = "system:karmada:controller-manager"
ANY_KIND = "any kind, known today or not, may be a template: it is found, labelled and gets its status"
FOR_AGENTS = "held only to be given: who writes the roles of agents must hold what is in them"
REASONS: dict[str, str] = {
    f"{MANAGER} get *.*": ANY_KIND,
    f"{MANAGER} list *.*": ANY_KIND,
    f"{MANAGER} watch *.*": ANY_KIND,
    f"{MANAGER} patch *.*": ANY_KIND,
    "system:karmada:aggregated-apiserver get secrets": "`karmadactl join --cluster-namespace` puts them anywhere",
}
"""By the right as `Right` spells it."""


def explained() -> Iterator[Right]:
    """The rights that have a reason."""
    agents = {
        (verb, group, resource)
        for rule in given_to_agents()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    for right in granted():
        if str(right) in REASONS or (right.user == MANAGER and right[1:4] in agents):
            yield right

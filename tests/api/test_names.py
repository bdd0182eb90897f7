import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import names


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (names.policy_name("ns-foo", "foo", "rand"), "foo-b4978784"),
        (names.work_name("Deployment", "nginx", "default"), "nginx-687f7fb96f"),
        (names.work_name("Namespace", "test", ""), "test-69fd499b4c"),
        (names.work_name("ClusterRole", "karmada-impersonator", ""), "karmada-impersonator-7cbb6bd5c9"),
        (names.work_name("Service", "web", "prod"), "web-bc7d89c89"),
        (names.binding_reference_key("default", "nginx-deployment"), "5bdc5c4dcf"),
        (names.binding_name("ClusterRole", "System:Admin"), "system.admin-clusterrole"),
    ],
)
def test_names_that_other_tools_compute_too(actual: str, expected: str) -> None:
    assert actual == expected


@given(st.text())
def test_hash_uses_only_letters_and_digits_that_form_no_words(text: str) -> None:
    assert set(names.short_hash(text)) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_names_of_objects_that_came_and_went_are_forgotten() -> None:
    for number in range(3 * names.REMEMBERED):
        names.work_name("Deployment", f"web-{number}", "default")
    assert names.short_hash.cache_info().currsize <= names.REMEMBERED <= 4096


@given(st.text())
def test_execution_space_and_cluster_are_inverse(cluster: str) -> None:
    namespace = names.execution_space(cluster)
    assert names.cluster_of_execution_space(namespace) == cluster
    assert names.is_reserved_namespace(namespace)


def test_a_namespace_that_is_no_execution_space_is_named_in_the_error() -> None:
    with pytest.raises(names.ExecutionSpaceError) as raised:
        names.cluster_of_execution_space("default")
    assert raised.value.namespace == "default"

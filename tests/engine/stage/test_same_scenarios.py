"""What the embedded way is held to, word for word, on a stock kube-apiserver and etcd."""

from tests.federation.test_lifecycle import (
    test_a_cluster_that_is_left_and_taken_again_at_once_has_its_copy,
    test_a_lazy_policy_waits_for_the_template_to_change,
    test_a_members_own_object_is_left_alone_until_the_policy_says_overwrite,
    test_a_policy_with_preemption_takes_over_only_with_a_higher_priority,
    test_a_preserved_object_stays_and_forgets_karmada,
    test_a_work_written_by_hand_is_delivered_updated_and_deleted,
    test_suspended_dispatching_keeps_members_as_they_are,
    test_what_a_member_changes_is_put_right,
)
from tests.federation.test_road import test_deleting_the_template_removes_it_from_the_members

__all__ = [
    "test_a_cluster_that_is_left_and_taken_again_at_once_has_its_copy",
    "test_a_lazy_policy_waits_for_the_template_to_change",
    "test_a_members_own_object_is_left_alone_until_the_policy_says_overwrite",
    "test_a_policy_with_preemption_takes_over_only_with_a_higher_priority",
    "test_a_preserved_object_stays_and_forgets_karmada",
    "test_a_work_written_by_hand_is_delivered_updated_and_deleted",
    "test_deleting_the_template_removes_it_from_the_members",
    "test_suspended_dispatching_keeps_members_as_they_are",
    "test_what_a_member_changes_is_put_right",
]

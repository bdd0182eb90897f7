"""Packages that only some installations have."""

import pytest

from karmada.machinery.extras import ExtraMissing, require


def test_a_program_whose_package_is_missing_ends_with_the_remedy():
    for package in ("no_such_package", "no_such_package.below"):
        with pytest.raises(ExtraMissing, match=r"estimator needs no_such.*pip install 'pykarmada\[production\]'"):
            require("karmada-scheduler-estimator", package)


def test_installed_packages_are_fine():
    require("karmada-scheduler-estimator", "grpc", "google.protobuf")

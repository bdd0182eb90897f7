"""Mutation tests: `python -m karmada.testing.mutants PACKAGE... [--sample N] [--seed S]`, from a checkout.

Every mutant is one small change to one module of a package: a comparison, a connective, a constant, a result, or a
statement left out. A mutant that the package's own tests (`tests/PACKAGE`) do not notice survives. Survivors that
change nothing anybody can see are listed with a reason in `tests/mutants.txt`, one `MODULE: CHANGE: REASON` each, and
do not count; flags of a class that the type checker holds (see `edits.STRUCTURAL`) do not count either. Exit status: 0
if at least `--least` percent are killed.
"""

"""What ``python -m tokencredit.laws`` runs: a test for every law."""

import pytest

from tokencredit.laws.options import ASKED


def pytest_generate_tests(metafunc):
    asked = metafunc.config.stash[ASKED]
    if "law" in metafunc.fixturenames:
        laws = [
            (f"{name}, {law.room.partition('#')[2]}", law)
            for name, some in asked
            for law in some
        ]
    else:
        laws = asked
    names = [name for name, _ in laws]
    metafunc.parametrize(metafunc.fixturenames[0], [x for _, x in laws], ids=names)


def test_law(law):
    if law.verdict == "skipped":
        pytest.skip(law.why)
    if law.verdict == "broken":
        pytest.fail(law.why, pytrace=False)


def test_some_law_could_be_checked(laws):
    if all(law.verdict == "skipped" for law in laws):
        pytest.fail("no law could be checked: see why each was skipped", pytrace=False)

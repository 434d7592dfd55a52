"""The options of ``python -m tokencredit.laws``, loaded for that run alone.

Pytest imports this in every run where the package is installed: it must stay light.
"""


def pytest_load_initial_conftests(early_config, args):
    """Bring the options if the laws are to be run."""
    asked = [arg.partition("::")[0].strip("/").replace("/", ".") for arg in args]
    if any(name.endswith("tokencredit.laws") for name in asked):
        early_config.pluginmanager.import_plugin("tokencredit.laws.options")

"""What pyproject.toml cannot say: the installed laws bring the rooms of the museum."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRooms(build_py):
    """Put ``book/errata/`` beside the module that reads it."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "tokencredit", "laws", "errata")
        self.mkpath(str(target))
        for file in sorted(Path("book", "errata").glob("*.py")):
            self.copy_file(str(file), str(target / file.name))


setup(cmdclass={"build_py": BuildWithRooms})

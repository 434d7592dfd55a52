"""What pyproject.toml cannot say: the installed book brings its glossary."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithGlossary(build_py):
    """Put ``book/glossary.yml`` beside the module that reads it."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "tokenbook", "languages", "glossary.yml")
            self.copy_file(str(Path("..", "book", "glossary.yml")), str(target))


setup(cmdclass={"build_py": BuildWithGlossary})

"""What pyproject.toml cannot say: the installed package brings the book's glossary."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithGlossary(build_py):
    """Put ``book/glossary.yml`` beside the module that reads it."""

    def run(self):
        super().run()
        if not self.editable_mode:
            glossary = Path(self.build_lib, "coursebook", "glossary.yml")
            self.copy_file("book/glossary.yml", str(glossary))


setup(cmdclass={"build_py": BuildWithGlossary})

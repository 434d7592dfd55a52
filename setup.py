"""What pyproject.toml cannot say: the installed package brings files of the book."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FILES = {"glossary.yml": "coursebook", "errata/*.py": "tokencredit/laws/errata"}


class BuildWithBook(build_py):
    """Put files of ``book/`` beside the modules that read them."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for pattern, folder in FILES.items():
            target = Path(self.build_lib, folder)
            self.mkpath(str(target))
            for file in sorted(Path("book").glob(pattern)):
                self.copy_file(str(file), str(target / file.name))


setup(cmdclass={"build_py": BuildWithBook})

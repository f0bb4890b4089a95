"""Put the `.pth` file at the root of the wheel, and list the packages: setuptools has no setting for either."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HOOK = "openlineage_pyspark.pth"


class BuildWithHook(build_py):
    """Builds the package's modules and, next to the package, the hook that each interpreter reads when it starts."""

    def run(self) -> None:
        """
        Copy the hook after the modules; an editable install has no place for it.

        What an earlier build left behind goes first: it would bring modules back that are deleted since.
        """
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            self.copy_file(HOOK, self._built_hook())

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Leave this script out: the root folder is the package, and isolated builds mistake it for a module."""
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if Path(module[2]).resolve() != Path(__file__).resolve()]

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        """Include the hook in what was built, so that an uninstall removes it."""
        hook = [] if self.editable_mode else [self._built_hook()]
        return [*super().get_outputs(include_bytecode), *hook]

    def get_source_files(self) -> list[str]:
        """Include the hook in the sources, so that a source distribution contains it."""
        return [*super().get_source_files(), HOOK]

    def _built_hook(self) -> str:
        return str(Path(self.build_lib) / HOOK)


# The repository's root is the package `openlineage_pyspark` itself.
ROOMS = ("command", "facets", "listener", "store", "transport")
PACKAGES = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])

setup(
    cmdclass={"build_py": BuildWithHook},
    packages=["openlineage_pyspark", *(f"openlineage_pyspark.{name}" for name in PACKAGES)],
)

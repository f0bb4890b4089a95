"""
Build the site of the documents in `build/site`, and check every link in it: `./run docs`.

The pages of `docs/` link to each other and to files of the repository, so that they can be read there. Here they are
laid out for Zensical: the README becomes the first page, links that leave `docs/` lead to the repository, the pages of
the API are listed from `openlineage_pyspark.__all__`, and `llms.txt` and `llms-full.txt` list and hold all pages.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parent))

from links import FILE_LINK, ROOT, address

del sys.path[0]
SETTINGS = ROOT / "docs" / "mkdocs.yml"
ROOMS = ("command", "facets", "listener", "transport", "workbench")
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
FROM_THE_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
# Each page of the API: its title, what it is about, and the modules whose public names are on it.
API = {
    "capture": ("Capture lineage", "Attach the listener to a session, and read what it counts.", ("listener",)),
    "answers": ("Ask for lineage", "Predict the lineage of a query, and ask a store.", ("workbench",)),
    "values": (
        "Runs, datasets and columns",
        "The values that facet providers and sources get and return.",
        ("facets",),
    ),
    "transports": ("Transports", "Write a transport of your own.", ("transport",)),
    "errors": ("Exceptions", "All have one root, `openlineage_pyspark.Error`.", ("errors",)),
}


OPTIONS = "\n    options:\n      show_root_heading: false\n      heading_level: 3"


def laid_out(page: str) -> str:
    """Return the text of a page of the repository, with its links as the site needs them."""

    def moved(link: re.Match[str]) -> str:
        target = (ROOT / page).parent.joinpath(link[2]).resolve().relative_to(ROOT)
        if target.as_posix() in FROM_THE_ROOT:
            return f"{link[1]}{FROM_THE_ROOT[target.as_posix()]}"
        if target.parts[0] == "docs" and target.suffix != ".py":
            return f"{link[1]}{target.relative_to('docs').as_posix()}"
        return f"{link[1]}{address(target)}"

    return FILE_LINK.sub(moved, (ROOT / page).read_text("utf-8"))


def public_names() -> dict[str, list[str]]:
    """Return the public names of the package by the room that defines them, as `__init__.py` imports them."""
    tree = ast.parse((ROOT / "__init__.py").read_text("utf-8"))
    by_room: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openlineage_pyspark."):
            room = str(node.module).split(".")[1]
            by_room.setdefault(room, []).extend(f"{node.module}.{name.name}" for name in node.names)
    return by_room


def api_pages() -> dict[str, str]:
    """Return the pages of the API by their paths."""
    names = public_names()
    pages = {}
    for name, (title, about, rooms) in API.items():
        listed = sorted((path for room in rooms for path in names[room]), key=lambda path: path.rpartition(".")[2])
        entries = "\n\n".join(f"## {path.rpartition('.')[2]}\n\n::: {path}{OPTIONS}" for path in listed)
        example = "Import each name from `openlineage_pyspark`."
        pages[f"api/{name}.md"] = f"# {title}\n\n{about} {example}\n\n{entries}\n"
    about = "Assert the lineage of your own queries and functions in tests."
    pages["api/testing.md"] = f"# Test lineage\n\n{about}\n\n::: openlineage_pyspark.testing\n"
    return pages


def copy_code() -> None:
    """Copy what the package has, and nothing around it, to where the docstrings are read."""
    code = ROOT / "build" / "code" / "openlineage_pyspark"
    shutil.rmtree(code, ignore_errors=True)
    for file in [*ROOT.glob("*.py"), *(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))]:
        (code / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, code / file.relative_to(ROOT))


def lay_out() -> dict[str, str]:
    """Write the pages of the site, and return their texts by their paths."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pictures", PAGES / "pictures")
    texts = {name: laid_out(page) for page, name in FROM_THE_ROOT.items()}
    texts |= {page.name: laid_out(f"docs/{page.name}") for page in sorted((ROOT / "docs").glob("*.md"))}
    texts |= api_pages()
    for name, text in texts.items():
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / name).write_text(text, "utf-8")
    return texts


def pages_in_order() -> list[tuple[str, str]]:
    """Return the section and the path of each page, in the order of the navigation."""
    section, found = "", []
    for line in SETTINGS.read_text("utf-8").partition("\nnav:\n")[2].splitlines():
        entry = line.strip().removeprefix("- ")
        if line.startswith("  - ") and entry.endswith(":"):
            section = entry.rstrip(":")
        elif entry.endswith(".md"):
            found.append((section, entry.rpartition(": ")[2]))
    return found


def title_and_summary(text: str) -> tuple[str, str]:
    """Return the first heading of a page, and its first sentence; with the answer, if it is a question."""
    title = text.partition("\n")[0].lstrip("# ")
    prose = [part for part in text.split("\n\n")[1:] if re.match(r"[A-Z\[]|`(?!``)|\*\*", part)]
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(prose[0].split()) if prose else "").replace("**", "")
    sentences = re.split(r"(?<=[.?])\s", text)
    # A sentence that ends with a colon introduces what is not here.
    whole = [each for each in sentences if not each.endswith(":")] or [sentences[0].rstrip(":") + "."]
    return title, " ".join(whole[: 2 if whole[0].endswith("?") else 1])


def write_for_models(texts: dict[str, str]) -> None:
    """Write `llms.txt`, which lists the pages, `llms-full.txt`, which holds them, and each page as Markdown."""
    listed, section = ["# openlineage-pyspark", "", f"> {title_and_summary(texts['index.md'])[1]}"], None
    for heading, path in pages_in_order():
        if heading != section:
            section = heading
            listed += ["", f"## {section or 'Start'}", ""]
        title, summary = title_and_summary(texts[path])
        listed.append(f"- [{title}]({path}): {summary}")
        (SITE / path).parent.mkdir(parents=True, exist_ok=True)
        (SITE / path).write_text(texts[path], "utf-8")
    (SITE / "llms.txt").write_text("\n".join(listed) + "\n", "utf-8")
    whole = "\n\n".join(texts[path] for _, path in pages_in_order() if not path.startswith("api/"))
    (SITE / "llms-full.txt").write_text(whole, "utf-8")


class Page(HTMLParser):
    """Collects the links and the anchors of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the addresses and the ids of an element."""
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "link":
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links() -> list[str]:
    """Return each link within the site that leads nowhere."""
    pages = {file: Page(file.read_text("utf-8")) for file in sorted(SITE.rglob("*.html"))}
    broken = []
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or file.name == "404.html":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{file.relative_to(SITE)}: {link}")
    return broken


def main() -> int:
    """Build the site, and return 1 if a page is in no section or a link leads nowhere."""
    texts = lay_out()
    times = Counter(path for _, path in pages_in_order())
    misplaced = sorted(path for path in {*texts, *times} if times[path] != 1 or path not in texts)
    if misplaced:
        print(f"docs/mkdocs.yml names these pages not just once, or they do not exist: {', '.join(misplaced)}")
        return 1
    copy_code()
    # Zensical keeps what it makes within the folder of its settings.
    settings = shutil.copy(SETTINGS, ROOT / "build")
    command = [sys.executable, "-Im", "zensical", "build", "--clean", "--config-file", str(settings)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603 (our own)
    if done.returncode:
        print(done.stdout + done.stderr)
        return done.returncode
    write_for_models(texts)
    broken = broken_links()
    print("\n".join([*broken, f"{len(texts)} pages in build/site, {len(broken)} broken links"]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

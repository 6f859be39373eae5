"""Defines what MkDocs does besides its own work for `make site`.

- A link that leads out of `docs/`, to a scenario, an example or a folder, leads on the site to a
  page made from that file. So the site is complete by itself, wherever it stands.
- The folders `aqm` and `decisions` list themselves in the navigation.
- The start page opens on a queue: the lab's, where it is built, in the place of the picture.
- Nested lists are indented by two columns here, as forges read them.
- The search of the theme tells apart what it would confuse.
"""

from __future__ import annotations

import base64
import posixpath
import re
import subprocess
from collections import deque
from functools import cache, partial
from pathlib import Path
from typing import Any

import markdown
from markdown.blockprocessors import build_block_parser
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from snippets import file_in

ROOT = Path(__file__).parent.parent

#: Where the pages of files outside of `docs/` stand.
FOLDER = "files"

#: Pages of nothing but tables of numbers: in the search they would bury everything else.
UNSEARCHED = {"accept.md"}

#: Pages that say how something is done, which a visitor seeks before pages that mention it, and how
#: much more they count in the search.
SOUGHT_FIRST = {"how-to.md": 2}

#: Characters of a file that is shown in full.
LONGEST = 60_000

LANGUAGES = {
    ".toml": "toml", ".py": "python", ".rs": "rust", ".json": "json", ".tcl": "tcl", ".sh": "sh",
    ".yml": "yaml",
}  # fmt: skip

LINK = re.compile(r"(?<!\\)(\]\()([^)\s]+)(\))")
HTML_LINK = re.compile(r'(<a\b[^>]*\bhref=")([^":]+)\.md([#"])')
CRATE = re.compile(r"^\| `penstock-(\w+)` \|", re.MULTILINE)


class TwoColumns(markdown.Extension):  # type: ignore[misc]
    """Two columns of indentation make a level of a list."""

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        """Sets the width of a level, in those who have already read it, too."""
        md.tab_length = 2
        md.parser = build_block_parser(md)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the extension, and lists the folders that list themselves."""
    config.markdown_extensions.insert(0, TwoColumns())
    config.nav = [_expanded(entry) for entry in config.nav or []]
    return config


def _expanded(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_expanded(each) for each in entry]
    if isinstance(entry, dict):
        return {title: _folder(value) for title, value in entry.items()}
    return entry


def _folder(value: Any) -> Any:
    if not isinstance(value, str):
        return _expanded(value)
    folder = ROOT / "docs" / value
    if not folder.is_dir():
        return value
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in folder.glob("*.md")}
    first = f"{value}/README.md"
    return [first, *sorted(pages - {first})]


def outside(target: str, base: str) -> tuple[str, str] | None:
    """Returns the path in the repository and the anchor of a link that leads out of `docs/`.

    target: the link. base: the path in the repository of the page that it stands on.
    """
    if "://" in target or target.startswith(("#", "mailto:", "/")):
        return None
    path, _, anchor = target.partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
    if found.startswith((".", "docs/")) or not (ROOT / found).exists():
        return None
    return found, anchor


def page_of(path: str) -> str:
    """Returns the page, in `docs/`, that shows a file or folder of the repository."""
    if path.endswith(".md"):
        return f"{FOLDER}/{path}"
    if (ROOT / path).is_dir():
        return f"{FOLDER}/{path}/README.md" if _readme(path) else f"{FOLDER}/{path}/files.md"
    return f"{FOLDER}/{path}.md"


def _readme(path: str) -> bool:
    return (ROOT / path / "README.md").exists()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each file outside of `docs/` that a page links to, and so on from there."""
    waiting = deque(
        found[0]
        for file in files.documentation_pages()
        for _, target, _ in LINK.findall(file.content_string)
        if (found := outside(target, f"docs/{file.src_uri}"))
    )
    seen: set[str] = set()
    while waiting:
        path = waiting.popleft()
        if (ROOT / path).is_dir() and _readme(path):
            path = f"{path}/README.md"
        if path in seen:
            continue
        seen.add(path)
        text, more = shown(path)
        waiting += more
        files.append(
            File.generated(config, page_of(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV)
        )
    return _with_decisions(files, config)


def _with_decisions(files: Files, config: MkDocsConfig) -> Files:
    """Adds the list of the decision records, which have none of their own."""
    folder = ROOT / "docs" / "decisions"
    lines = [
        f"- [{page.read_text(encoding='utf-8').splitlines()[0].lstrip('# ')}]({page.name})"
        for page in sorted(folder.glob("*.md"))
    ]
    text = "\n".join(["# Decisions", "", "Why things are as they are.", "", *lines, ""])
    files.append(File.generated(config, "decisions/README.md", content=text))
    return files


def shown(path: str) -> tuple[str, list[str]]:
    """Returns the page that shows a file or folder, and what outside of `docs/` it links to."""
    there = ROOT / path
    if there.is_dir():
        inside = [name for name in tracked() if name.startswith(f"{path}/")]
        names = sorted({name[len(path) + 1 :].split("/")[0] for name in inside})
        skip = len(f"{FOLDER}/{path}/")
        lines = [f"- [{name}]({page_of(f'{path}/{name}')[skip:]})" for name in names]
        return "\n".join([f"# {path}", "", *lines, ""]), [f"{path}/{name}" for name in names]
    text = there.read_text(encoding="utf-8")
    if path.endswith(".md"):
        found = (outside(target, path) for _, target, _ in LINK.findall(text))
        return text, [each[0] for each in found if each]
    if len(text) > LONGEST:
        return (
            f"# {path}\n\nThis file is too long to be shown here: {len(text):,} characters.\n",
            [],
        )
    language = LANGUAGES.get(there.suffix, "text")
    return f"# {path}\n\n````{language}\n{text.rstrip()}\n````\n", []


@cache
def tracked() -> tuple[str, ...]:
    """Returns the files of the repository, as Git knows them."""
    said = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return tuple(said.splitlines())


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links so that they lead to pages of the site."""
    where = page.file.src_uri
    base = where[len(FOLDER) + 1 :] if where.startswith(f"{FOLDER}/") else f"docs/{where}"
    if where in UNSEARCHED or where.startswith(f"{FOLDER}/"):
        page.meta["search"] = {"exclude": True}
    if where in SOUGHT_FIRST:
        page.meta["search"] = {"boost": SOUGHT_FIRST[where]}
    if where == "README.md":
        page.meta["hide"] = ["navigation", "toc"]
    if 'class="beside"' in text:
        page.meta["hide"] = ["toc"]  # two programs side by side need its room

    if where == "rust.md":  # what `make site` puts beside the pages
        text = CRATE.sub(r'| <a href="rust/penstock_\1/index.html">penstock-\1</a> |', text)

    def turned(match: re.Match[str]) -> str:
        return f"{match[1]}{_turned(match[2], base, where)}{match[3]}"

    return HTML_LINK.sub(r"\1\2.html\3", LINK.sub(turned, text))


#: Pages and folders whose tables have a key in each row, so that a phone can show a row as a block.
STACKED = ("reference/", "aqm/", "evaluate/", "profiles.md", "glossary.md")
TABLE = re.compile(r"<table>\s*<thead>(.*?)</thead>(.*?)</table>", re.DOTALL)
CELL = re.compile(r"<td\b")
EMPTY_HEAD = re.compile(r"<th\b([^>]*)></th>")


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Tells each cell of the reference its column's name, for the style sheet.

    A head that says nothing is none. The start page gets its doors, and its queue.
    """
    text = EMPTY_HEAD.sub(r"<td\1></td>", text)
    if page.file.src_uri == "README.md":
        text = TABLE.sub(partial(_stacked, name="doors"), text, count=1)
        if files.get_file_from_path(ENGINE) is not None:
            shown = page.file.content_string
            text = PICTURE.sub(lambda found: revived(found[1], shown), text, count=1)
    return TABLE.sub(_stacked, text) if page.file.src_uri.startswith(STACKED) else text


#: The lab's engine, which `make site` builds where it can, and what is read off the start page.
ENGINE = "lab/engine.js"
PICTURE = re.compile(r"<p>(<img\b[^>]*>)</p>")


def revived(picture: str, text: str) -> str:
    """Returns a picture with where the lab shows the same run (docs/site.js).

    text: the page, which shows the scenario.
    """
    written = file_in(text, "first.toml")
    toml = re.sub(r"^duration = .*", 'duration = "600 s"', written)  # it is to go on
    packed = base64.urlsafe_b64encode(toml.encode()).decode().rstrip("=")
    lab = f"lab/index.html#bare&amp;aqm=droptail&amp;beside=codel&amp;toml={packed}"
    return f'<figure class="hero" data-lab="{lab}">{picture}</figure>'


#: What the theme leaves unnamed, and the same with its name.
SEARCH = 'component="search" role="dialog"'
SECTION = re.compile(
    r'aria-labelledby="__nav_[\d_]+_label"'
    r'([^>]*>\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>)'
    r"\s*([^<]*?)\s*</label>"
)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Names the search and the sections of the navigation."""
    return _named(output)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """The same of the page for an address that does not exist."""
    return _named(output)


def _named(output: str) -> str:
    output = output.replace(SEARCH, f'{SEARCH} aria-label="Search"')
    return SECTION.sub(r'aria-label="\2"\1\2</label>', output)


def on_post_build(config: MkDocsConfig) -> None:
    """Tells apart the nodes of the search's automaton.

    lunr writes a node as its letters, each with the number of the node behind it, and takes two
    nodes that are written alike for one. Digits among the letters can then break the index: 1 to
    node 23 reads as 12 to node 3. A comma behind each number keeps them apart.
    """
    (worker,) = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    before, written, after = worker.read_text(encoding="utf-8").partition("e=e+s+o.id}")
    assert written, f"{worker.name} writes its nodes in another way: see on_post_build"
    worker.write_text(f'{before}e=e+s+o.id+","}}{after}', encoding="utf-8")


def _stacked(found: re.Match[str], name: str = "stacked") -> str:
    """Returns a table whose cells know their column's name."""
    heads = re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", found[1], re.DOTALL)
    names = [re.sub(r"<[^>]*>", "", each) for each in heads]
    rows = []
    for row in found[2].split("<tr>"):
        names_left = iter(names)
        rows.append(CELL.sub(lambda _: f'<td data-label="{next(names_left, "")}"', row))  # noqa: B023
    return f'<table class="{name}"><thead>{found[1]}</thead>{"<tr>".join(rows)}</table>'


def _turned(target: str, base: str, where: str) -> str:
    """Returns a link of the repository as a link between pages of the site."""
    if "://" in target or target.startswith(("#", "mailto:")):
        return target
    path, _, anchor = target.partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
    if found == "docs" or found.startswith("docs/"):
        inside = found[5:]
        there = ROOT / found
        goal = f"{inside}/README.md".lstrip("/") if there.is_dir() else inside
    elif (ROOT / found).exists():
        goal = page_of(found)
    else:
        return target
    relative = posixpath.relpath(goal, posixpath.dirname(where) or ".")
    return f"{relative}#{anchor}" if anchor else relative

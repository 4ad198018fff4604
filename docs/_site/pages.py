r"""What the documentation site generates while MkDocs builds it: the API reference, and links to it.

As a hook of MkDocs: a page for each module, sections of the navigation for them and for the pages of results, and links
from file names such as ``agents/control/sac.py`` to the module's page. As an extension of griffe: Sphinx's roles in
docstrings become links (``:class:`~tiltyard.benchmarks.runs.Run```) or MathML (``:math:`\gamma```), which browsers
show without a script.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

LOG = get_plugin_logger(__name__)
ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("envs", "agents", "wrappers", "benchmarks")
NOT_API = ("benchmarks/proofs", "benchmarks/studies", "benchmarks/speed", "benchmarks/claims", "envs/gui/apps")
"""Scripts and experiments, which are run and not imported, and the phone's apps."""
MATH = re.compile(r":math:`([^`]+)`|^( *)\.\. math::\n\n?((?:\2 +\S.*(?:\n|\Z))+)", re.MULTILINE)
ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc|obj|ref):`~?([^`]+)`")
SOURCE = re.compile(rf"(?<!\[)`((?:{'|'.join(ROOMS)}|tests)/[\w/]+\.py)`")


def modules() -> Iterator[Path]:
    """Source files with a page of the reference, from the root of the repository."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            source = path.relative_to(ROOT)
            private = path.stem.startswith("_") and path.stem != "__init__"
            data = "rows" in (path.stem, path.parent.name) or str(source).startswith(NOT_API)
            if not private and not data and path.read_text(encoding="utf-8").strip():
                yield source


def page_of(source: Path) -> str:
    """Where the page of a source file lies in the site's sources."""
    return f"api/{source.parent if source.stem == '__init__' else source.with_suffix('')}.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the sections of results and of the reference to the navigation."""
    results = sorted(path.relative_to(config.docs_dir) for path in Path(config.docs_dir).glob("results/*/README.md"))
    tree: dict[str, Any] = {}
    for source in modules():
        branch = tree
        for folder in source.parent.parts:
            branch = branch.setdefault(folder, {})
        branch["" if source.stem == "__init__" else source.stem] = page_of(source)
    for section in config.nav:
        for title, entries in section.items():
            if title == "Results":
                entries += [str(path) for path in results]
            if title == "API":
                entries += _sections(tree)
    return config


def _sections(branch: dict[str, Any]) -> list[Any]:
    """A folder's pages as MkDocs' navigation wants them; a package's own page (of no name) opens its section."""
    own = [branch[""]] if "" in branch else []
    others = [(name, entry) for name, entry in branch.items() if name]
    return own + [{name: _sections(entry) if isinstance(entry, dict) else entry} for name, entry in others]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each module."""
    for source in modules():
        parts = source.parent.parts if source.stem == "__init__" else source.with_suffix("").parts
        content = f"---\ntitle: {parts[-1]}\n---\n\n::: {'.'.join(('tiltyard', *parts))}\n"
        files.append(File.generated(config, page_of(source), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links each source file that is named as code to its page of the reference; warns of one that is not there."""

    def link(match: re.Match[str]) -> str:
        if not (ROOT / match[1]).is_file() and not page.file.src_uri.startswith("results/"):  # those tell what was
            LOG.warning("%s names %s, which is not there", page.file.src_uri, match[1])
        target = files.get_file_from_path(page_of(Path(match[1])))
        if target is None or target is page.file:
            return match[0]
        return f"[`{match[1]}`]({get_relative_url(target.src_uri, page.file.src_uri)})"

    return SOURCE.sub(link, markdown)


class Roles(griffe.Extension):
    """Sphinx's roles and formulas in docstrings, as HTML."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(_role, MATH.sub(_formula, obj.docstring.value))


def _role(match: re.Match[str]) -> str:
    """A link where the reference has a page or an anchor of this name, and the name as code elsewhere."""
    path = match[1]
    name = f"<code>{path.rpartition('.')[2]}</code>"
    return f'<autoref identifier="{path}" optional>{name}</autoref>' if path.startswith("tiltyard.") else name


def _formula(match: re.Match[str]) -> str:
    """A formula as MathML, in which nothing is left that Markdown would read as emphasis."""
    inline, _, block = match.groups()
    latex = " ".join((inline or block).split())
    if "&" in latex:
        latex = rf"\begin{{aligned}} {latex} \end{{aligned}}"
    html = convert(latex, display="inline" if inline else "block").replace("*", "&#42;").replace("_", "&#95;")
    return html if inline else f"\n<div>{html}</div>\n\n"

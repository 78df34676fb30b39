"""Skills: instructions that a model requests by `sk:<namespace.id>`, kept as Markdown files.

    skills/public/pdf.md

    ---
    id: public.pdf
    title: Writing a PDF
    imports: [public.fonts, public.layout]
    ---
    Set the margins first …

All three lines may be missing: the id is then the place of the file (`public/pdf.md` is
`public.pdf`), the title the first heading, and nothing is imported. An unreadable file is listed in
`broken`, and the others load. So is a link, wherever it leads: a skill steers the model, so it must
lie in the folder itself.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from callblocks.core.errors import BadPath, CallerError
from callblocks.core.paths import parse_path
from callblocks.core.text import brief

__all__ = (
    "BrokenSkill",
    "Skill",
    "Skills",
    "split_front_matter",
)

# --- The front matter of a Markdown file: keys with their values, between two lines `---` ---
#
#     ---
#     title: "Writing a PDF"
#     imports: [public.fonts, public.layout]
#     ---
#
# Values are bare or quoted; several are a list in brackets, or lines that begin with `- `. This is
# not YAML: nothing nests, and every value is text.

_FENCE = "---"
_LINE = re.compile(r"([A-Za-z_-]+)[ \t]*:(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")


def split_front_matter(text: str, keys: Collection[str]) -> tuple[dict[str, list[str]], str]:
    """Each key with its values, and the text after the front matter, with `\\n` after its lines.

    `ValueError`, saying why, if there is a front matter that cannot be read, or another key.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, "\n".join(lines)
    ends = (number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE)
    end = next(ends, None)
    if end is None:
        raise ValueError("the front matter has no end: write --- on a line of its own after it")
    return _fields(lines[1:end], keys), "\n".join(lines[end + 1 :])


def _fields(lines: list[str], keys: Collection[str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in filter(_says_something, lines):
        item, pair = _ITEM.fullmatch(line), _LINE.fullmatch(line)
        # A list item belongs to the last key; before the first key it is a fault.
        if item and values is not None:
            values.append(_bare(item[1]))
        elif pair and pair[1] in keys:
            values = fields[pair[1]] = _values(pair[2].strip())
        else:
            known = ", ".join(keys)
            raise ValueError(f"the front matter may say {known}, and nothing like {brief(line)}")
    return fields


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _values(text: str) -> list[str]:
    listed = text.startswith("[") and text.endswith("]")
    items = text[1:-1].split(",") if listed else [text]
    return [bare for item in items if (bare := _bare(item))]


def _bare(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


# --- Skills: instructions that a model requests by `sk:<namespace.id>`, kept as Markdown files ---

_SIZE = 1 << 20
# NONBLOCK: a pipe in place of a file would block its reader forever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


class Skill(msgspec.Struct, frozen=True):
    """One skill: its title, its text, and the skills it builds on."""

    id: str
    title: str
    text: str
    imports: tuple[str, ...] = ()


class BrokenSkill(msgspec.Struct, frozen=True):
    """A file without a valid skill, below the folder, and the reason."""

    file: str
    problem: str


class Skills:
    """The skills that a model may request."""

    def __init__(self, skills: Iterable[Skill] = (), broken: Iterable[BrokenSkill] = ()) -> None:
        self._skills = {skill.id: skill for skill in skills}
        self.broken = tuple(broken)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Skills:
        """Read every `*.md` file below a folder; of two with one id, the first by name counts."""
        top = Path(folder)
        if not top.is_dir():
            raise CallerError(f"no folder of skills at {brief(str(folder))}")
        found: dict[str, Skill] = {}
        broken: list[BrokenSkill] = []
        for one in sorted(_each(top), key=lambda one: PurePosixPath(one[0])):
            name, skill = one
            if isinstance(skill, Skill) and skill.id in found:
                skill = f"another file has the id {skill.id} already"
            if isinstance(skill, Skill):
                found[skill.id] = skill
            else:
                broken.append(BrokenSkill(name, skill))
        return cls(found.values(), broken)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)

    def get(self, id: str) -> Skill | None:
        """Return the skill of that id, if there is one."""
        return self._skills.get(id)

    def resolve(self, id: str) -> list[Skill]:
        """Return a skill after all that it imports, each once; empty if there is no such skill."""
        return [skill for one in self._order(id) if (skill := self.get(one)) is not None]

    def missing(self, id: str) -> list[str]:
        """Return the missing ids: this one or imports of it."""
        return [one for one in self._order(id) if one not in self._skills]

    def _order(self, id: str) -> list[str]:
        """Return all needed ids, imports first. A cycle is entered once, and left where it
        closes.
        """
        # A depth-first topological sort with an explicit stack: imports may be nested deeper than
        # Python's recursion limit.
        done: dict[str, None] = {}
        entered = {id}
        stack = [(id, self._imports(id))]
        while stack:
            current, imports = stack[-1]
            following = next((one for one in imports if one not in entered), None)
            if following is None:
                done[current] = None
                stack.pop()
            else:
                entered.add(following)
                stack.append((following, self._imports(following)))
        return list(done)

    def _imports(self, id: str) -> Iterator[str]:
        skill = self.get(id)
        return iter(skill.imports if skill else ())


def _each(top: Path) -> Iterator[tuple[str, Skill | str]]:
    """Yield the name of each file below the folder, and its skill, or the reason why it is none."""
    top = top.resolve()
    failed: list[OSError] = []
    for above, folders, files, folder in os.fwalk(top, onerror=failed.append):
        place = Path(above).relative_to(top)
        # `fwalk` lists links to folders among the folders, and does not enter them.
        links = (name for name in folders if Path(above, name).is_symlink())
        for name in (*links, *(name for name in (*files, *folders) if name.endswith(".md"))):
            file = (place / name).as_posix()
            yield file, _skill_or_problem(folder, name, file)
    for error in failed:
        yield os.path.basename(error.filename), _words(error)


def _skill_or_problem(folder: int, name: str, file: str) -> Skill | str:
    try:
        return _read(folder, name, file)
    except (OSError, ValueError) as error:
        return _words(error)


_LINK = "it is a link, and none is followed"


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if not isinstance(error, OSError):
        return str(error)
    return _LINK if error.errno == errno.ELOOP else error.strerror or str(error)


def _read(folder: int, name: str, file: str) -> Skill:
    with open(os.open(name, _READ, dir_fd=folder), "rb") as opened:
        # Checked on the descriptor, because the name may have changed since the folder was listed.
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = opened.read(_SIZE + 1)
    if len(content) > _SIZE:
        raise ValueError(f"it is larger than {_SIZE:,} bytes")
    fields, text = split_front_matter(content.decode("utf-8-sig"), ("id", "title", "imports"))
    id = _one(fields, "id") or file.removesuffix(".md").replace("/", ".")
    heading = _HEADING.search(text)
    title = _one(fields, "title") or (heading[1].strip() if heading else id)
    imports = tuple(dict.fromkeys(_id(one) for one in fields.get("imports", ())))
    return Skill(_id(id), title, text.strip(), imports)


def _one(fields: dict[str, list[str]], key: str) -> str:
    values = fields.get(key, [])
    if len(values) > 1:
        raise ValueError(f"the front matter has more than one {key}")
    return values[0] if values else ""


def _id(text: str) -> str:
    """Return the id in the form of a path."""
    try:
        written = str(parse_path(f"sk:{text}"))
    except BadPath:
        written = ""
    if written != f"sk:{text}":
        raise ValueError(f"{brief(text)} is no id of a skill: write namespace.id")
    return text

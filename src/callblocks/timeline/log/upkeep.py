"""Upkeep of timelines with the artifacts that they name: garbage, backup and restore.

Garbage: the artifacts that no timeline names
    An artifact is put before the block that names it, so one that nobody names may be about to be
    named. Nothing locks both stores at once, and nothing has to:

    1. The artifacts are listed, then all timelines are read. Whatever looks like a digest in a body
       is a name, so no kind of block has to be known here. A timeline with a gap, or a block that
       does not fit its hash, may have lost a name: then nothing is touched.
    2. What nobody names, and was not put for the grace period, is moved to the trash. Whoever puts
       old content again writes it again, which makes it young.
    3. What lies in the trash longer than the grace period is deleted, if still nobody names it; if
       somebody does, it comes back.

    A writer that put an artifact in the instant before it was moved appends the block within the
    grace period: the next run finds the name and brings the artifact back. Until then a read takes
    it from the trash.

Backup: one point of time without a lock
    A log only grows. One statement reads the ends of all timelines, and what stands up to these
    ends never changes, so they can be copied at leisure. The artifacts follow: those that the
    copied blocks name were there before the blocks. The manifest is written last; a folder without
    it is no backup.

        backup/manifest.json             the ends, the artifacts, and what could not be read
        backup/timelines/NAME.jsonl      exports, which `timeline import` reads as well
        backup/artifacts/4f/4f0c…e1/…    a folder of artifacts

Restore: everything is verified before anything is written
    Artifacts come first. A timeline that is there with the same end is done already, so a restore
    that was interrupted goes on when it is called again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts.artifacts import Artifacts, ArtifactStore
from callblocks.timeline.log.log import Head, Store, decode, genesis, link
from callblocks.timeline.log.transfer import (
    Checked,
    Line,
    check_import,
    digests_of,
    export_lines,
    import_checked,
    missing_words,
)

__all__ = (
    "GRACE",
    "Backup",
    "Collected",
    "Copied",
    "back_up",
    "collect_garbage",
    "restore",
)

# Seconds for which an artifact that nobody names is left alone, and then lies in the trash.
GRACE = 24 * 3600.0

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


# --- Garbage ---


class Collected(msgspec.Struct, frozen=True):
    """What a run did: artifacts that are named, moved to the trash, brought back and deleted."""

    named: int
    young: int
    buried: int
    restored: int
    purged: int
    freed: int


def collect_garbage(
    stores: Sequence[Store],
    artifacts: ArtifactStore,
    grace: float = GRACE,
    *,
    act: bool = True,
) -> Collected:
    """Remove what no timeline of these stores names; without `act`, only count it.

    The stores must be all whose timelines name artifacts there. Ones without any timeline are taken
    for a mistake.
    """
    stored, buried = list(artifacts.stored()), list(artifacts.buried())
    named = _named(stores)
    old = [one for one in stored if one.digest not in named and one.age >= grace]
    present = {one.digest for one in stored}
    back = [one for one in buried if one.digest in named and one.digest not in present]
    gone = [
        one
        for one in buried
        if one.age >= grace and (one.digest not in named or one.digest in present)
    ]
    if act:
        for one in back:
            artifacts.restore(one.digest)
        for one in gone:
            artifacts.purge(one.digest)
        for one in old:
            artifacts.bury(one.digest)
    count = sum(one.digest in named for one in stored)
    return Collected(
        named=count + len(back),
        young=len(stored) - count - len(old),
        buried=len(old),
        restored=len(back),
        purged=len(gone),
        freed=sum(one.size for one in gone),
    )


def _named(stores: Sequence[Store]) -> set[str]:
    """Return every digest in a body of any timeline; raise if a body may have been lost."""
    named: set[str] = set()
    for store in stores:
        summaries = store.names()
        if not summaries:
            words = "a store has no timelines, so every artifact would be garbage; name another"
            raise TimelineError("unknown_timeline", words)
        for summary in summaries:
            named.update(_named_on(store, summary.name))
    return named


def _named_on(store: Store, name: str) -> Iterator[str]:
    count = store.head(name).count
    last, hash = 0, genesis(name)
    for row in store.rows(name):
        if row.seq != last + 1:
            _refuse(name, missing_words(last + 1, row.seq - 1))
        if row.body is None or link(hash, row.seq, row.body) != row.hash:
            _refuse(name, f"block {row.seq} is damaged")
        last, hash = row.seq, row.hash
        yield from (found.decode() for found in _DIGEST.findall(row.body))
    if last < count:
        _refuse(name, missing_words(last + 1, count))


def _refuse(name: str, fault: str) -> NoReturn:
    words = f"{name}: {fault}, and may have named any artifact; nothing was touched"
    raise TimelineError("store_damaged", words)


# --- Backup and restore ---

_FORMAT = "callblocks backup"
_VERSION = 1
_MANIFEST = "manifest.json"
_TIMELINES = "timelines"
_ARTIFACTS = "artifacts"


class Copied(msgspec.Struct, frozen=True):
    """The timeline of a backup. `is_damaged` if not every block could be read."""

    name: str
    count: int
    hash: str
    is_damaged: bool = False


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest: timelines, digests of artifacts, and those that are named and were not there.

    `missing` has the code of each fault.
    """

    format: str = _FORMAT
    version: int = _VERSION
    timelines: list[Copied]
    artifacts: list[str]
    missing: dict[str, str]


def back_up(
    store: Store,
    artifacts: ArtifactStore,
    folder: Path,
    tell: Callable[[str], object] = lambda words: None,
) -> Backup:
    """Copy every timeline, and every artifact that it names, to a folder that has no backup.

    `tell` gets the words about each fault. One that was interrupted can be made again there.
    """
    if (folder / _MANIFEST).exists():
        raise TimelineError("timeline_exists", f"{folder} holds a backup; choose another folder")
    (folder / _TIMELINES).mkdir(mode=0o700, parents=True, exist_ok=True)
    # One statement: the ends of all timelines at one time.
    ends = {one.name: Head(one.count, one.hash) for one in store.names()}
    names: dict[str, str] = {}
    timelines: list[Copied] = []
    for name, end in ends.items():
        faults = _copy_timeline(store, name, end, folder / _TIMELINES / f"{name}.jsonl", names)
        for fault in faults:
            tell(f"{name}: {fault}")
        timelines.append(Copied(name, end.count, end.hash, is_damaged=bool(faults)))
    missing = dict(_copy_artifacts(artifacts, Artifacts(folder / _ARTIFACTS), names))
    for digest, code in missing.items():
        tell(f"{code}: {digest}")
    kept = [digest for digest in sorted(names) if digest not in missing]
    backup = Backup(timelines=timelines, artifacts=kept, missing=missing)
    _write_durably(folder / _MANIFEST, [msgspec.json.format(msgspec.json.encode(backup))])
    return backup


def _copy_timeline(
    store: Store, name: str, end: Head, file: Path, names: dict[str, str]
) -> list[str]:
    """Export a timeline up to an end, note the names of its artifacts, and return the faults."""
    faults: list[str] = []

    def noted() -> Iterator[bytes]:
        for line in export_lines(
            store,
            name,
            end,
            lost=lambda seq: faults.append(f"block {seq} cannot be read"),
            missing=lambda first, last: faults.append(missing_words(first, last)),
        ):
            _note_names(line, names)
            yield line

    try:
        _write_durably(file, noted())
    except TimelineError as error:
        # What could be read before is in no file: an export that breaks is none.
        faults.append(error.message)
    return faults


def _note_names(line: bytes, names: dict[str, str]) -> None:
    try:
        body = bytes(msgspec.json.decode(line, type=Line).block)
    except msgspec.ValidationError:  # the first line or the last
        return
    block = decode(body)
    for digest in digests_of(block):
        if digest and names.get(digest, "") == "":
            names[digest] = _file_name(block, digest)


def _file_name(block: Block, digest: str) -> str:
    """Return the name of a block's artifact, for a folder; any serves."""
    key: Any = block.meta.get("key")
    has_name = isinstance(key, str) and f"/{digest}/" in f"/{key}"
    return str(key).rpartition("/")[2] if has_name else "file"


def _copy_artifacts(
    source: ArtifactStore, target: ArtifactStore, names: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Copy artifacts that are not there yet; yield those that cannot be read, with the fault."""
    for digest, name in sorted(names.items()):
        if target.check(digest) is None:
            continue
        try:
            content = source.read(digest)
        except TimelineError as error:
            # A service that does not answer now says nothing about its artifacts.
            if error.code == "store_unavailable":
                raise
            yield digest, error.code
            continue
        target(name, content)


def restore(store: Store, artifacts: ArtifactStore, folder: Path) -> Backup:
    """Write a backup into a store that has none of its timelines, or has them as they are there.

    Damaged timelines are left out. Everything is verified first; a `TimelineError` before the first
    artifact is written has changed nothing.
    """
    backup = _read_manifest(folder)
    source = Artifacts(folder / _ARTIFACTS)
    for digest in backup.artifacts:
        source.read(digest)
    left: list[Copied] = []
    for one in backup.timelines:
        if one.is_damaged:
            continue
        _check_copy(folder, one)
        head = store.head(one.name)
        if not head.count:
            left.append(one)
        elif head != Head(one.count, one.hash):
            words = f"a timeline {one.name} is there already, with other blocks"
            raise TimelineError("timeline_exists", words)
    for digest in backup.artifacts:
        artifacts(_name_in(folder, digest), source.read(digest))
    for one in left:
        with open(folder / _TIMELINES / f"{one.name}.jsonl", "rb") as file:
            import_checked(store, file, Checked(one.name, one.name, one.count, 0))
    return backup


def _read_manifest(folder: Path) -> Backup:
    try:
        content = (folder / _MANIFEST).read_bytes()
        backup = msgspec.json.decode(content, type=Backup)
    except OSError as error:
        words = f"{folder} is no backup, or one that was not finished: {error.strerror}"
        raise TimelineError("bad_import", words) from error
    except msgspec.MsgspecError as error:
        raise TimelineError("bad_import", f"{folder / _MANIFEST}: {error}") from error
    if backup.format != _FORMAT:
        raise TimelineError("bad_import", f"{folder / _MANIFEST} is not that of a backup")
    if backup.version > _VERSION:
        words = f"{folder} was made by a newer callblocks; use that"
        raise TimelineError("newer_schema", words)
    return backup


def _check_copy(folder: Path, timeline: Copied) -> None:
    try:
        with open(folder / _TIMELINES / f"{timeline.name}.jsonl", "rb") as file:
            checked = check_import(file)
            end = _last_line(file)
    except OSError as error:
        words = f"{timeline.name}: {error.strerror or error}"
        raise TimelineError("bad_import", words) from error
    said = (checked.source, checked.count, end)
    if said != (timeline.name, timeline.count, timeline.hash):
        words = f"{timeline.name}: the file is not the one that the manifest names"
        raise TimelineError("chain_broken", words)


def _last_line(file: Any) -> str:
    """Return the hash in the last line of an export that was verified."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4096))
    return str(msgspec.json.decode(file.read().splitlines()[-1])["hash"])


def _name_in(folder: Path, digest: str) -> str:
    place = folder / _ARTIFACTS / digest[:2] / digest
    names = sorted(os.listdir(place)) if place.is_dir() else []
    return names[0] if names else "file"


def _write_durably(file: Path, parts: Iterable[bytes]) -> None:
    """Write a file that is there whole or not at all."""
    new = file.with_name(f".new-{file.name}")
    with open(new, "wb") as opened:
        opened.writelines(parts)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(new, file)
    descriptor = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

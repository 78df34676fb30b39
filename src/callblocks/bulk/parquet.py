"""Parquet files by their row groups; pyarrow reads and writes them.

pyarrow has no types, so nothing of it leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

from callblocks.bulk.records import columns_of
from callblocks.bulk.storage import RangeFile
from callblocks.core.errors import CallerError
from callblocks.core.extras import needing

__all__ = ("convert_groups", "cut_groups", "group_sizes", "join_groups")


def group_sizes(file: RangeFile, name: str) -> list[int]:
    """Return the bytes of each row group, unpacked; raise `CallerError` if it is no Parquet."""
    pq = _parquet(name)
    try:
        found = pq.ParquetFile(file).metadata
    except import_module("pyarrow").ArrowInvalid as error:
        raise CallerError(f"{name}: {' '.join(str(error).split())}") from error
    return [found.row_group(at).total_byte_size for at in range(found.num_row_groups)]


def convert_groups(
    file: RangeFile,
    name: str,
    groups: range,
    field: str,
    convert: Callable[[int, list[dict[str, Any]]], bool],
    *,
    writes: bool,
) -> bytes:
    """Give the rows of each group to `convert`, which may change them and says whether it did.

    Return a Parquet file with a group for each, or nothing. Columns without texts are passed on.
    """
    pq, pa = _parquet(name), import_module("pyarrow")
    source, sink = pq.ParquetFile(file), BytesIO()
    columns = columns_of(source.schema_arrow.names, field)
    writer = pq.ParquetWriter(sink, source.schema_arrow) if writes else None
    for group in groups:
        table = source.read_row_group(group, columns=None if writes else columns)
        rows = table.select(columns).to_pylist()
        changed = convert(group, rows)
        if writer is None:
            continue
        for column in columns if changed else ():
            known = table.schema.field(column)
            values = pa.array([row[column] for row in rows], type=known.type)
            at = table.schema.get_field_index(column)
            table = table.set_column(at, known, values)
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    if writer is not None:
        writer.close()
    return sink.getvalue()


def join_groups(parts: Iterator[RangeFile], target: Any) -> None:
    """Write the row groups of all parts into one file, in order."""
    pq, writer = _parquet("a part"), None
    for part in parts:
        source = pq.ParquetFile(part)
        writer = writer or pq.ParquetWriter(target, source.schema_arrow)
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
    if writer is not None:
        writer.close()


def cut_groups(sizes: Sequence[int], part: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of neighbouring groups that together have the size of a part, with that size."""
    start = held = 0
    for at, size in enumerate(sizes):
        held += size
        if held >= part:
            yield start, at + 1, held
            start, held = at + 1, 0
    if start < len(sizes) or not sizes:
        yield start, len(sizes), held


def _parquet(name: str) -> Any:
    with needing("bulk", name):
        import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs] it has none
    return pq

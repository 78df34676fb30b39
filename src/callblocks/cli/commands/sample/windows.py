"""Crossing times of the sands: read from tides.csv, written to windows.csv and windows.pdf.

python3 windows.py
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from pathlib import Path

HALF = timedelta(minutes=105)
TIME = "%H:%M"


def windows(tides: Path) -> list[tuple[str, str, str, str]]:
    """Date, low water, and from when to when the way is open."""
    with tides.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: list[tuple[str, str, str, str]] = []
    for row in rows:
        low = datetime.strptime(row["low"], TIME)
        opens, closes = (low - HALF).strftime(TIME), (low + HALF).strftime(TIME)
        found.append((row["date"], row["low"], opens, closes))
    return found


def sheet(title: str, lines: list[str]) -> bytes:
    """One page of PDF: a title, and lines below it."""
    parts = [f"BT /F1 20 Tf 60 770 Td ({title}) Tj ET", "BT /F2 11 Tf 18 TL 60 730 Td"]
    parts += [*(f"({line}) Tj T*" for line in lines), "ET"]
    text = "\n".join(parts)
    fonts = "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"
    fonts += " /F2 << /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        f" /Resources << /Font << {fonts} >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
    ]
    page, places = "%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(page))
        page += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(page)}\n%%EOF\n"
    return f"{page}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def main() -> None:
    """Write both files, and say what is in them."""
    found = windows(Path("tides.csv"))
    with Path("windows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("date", "low", "opens", "closes"))
        writer.writerows(found)
    lines = [f"{date}   low {low}   open {a} - {b}" for date, low, a, b in found]
    Path("windows.pdf").write_bytes(sheet("The way to Holm Island", lines))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

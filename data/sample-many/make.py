"""Writes the corpus of many small documents: ``python data/sample-many/make.py [--out DIR] [--check]``.

Sixty surveys of pumping stations that do not exist, one page each; ``facts.csv`` with what each of them says;
and questions whose answers follow from that table. Nothing here is drawn at random: figures come from the
sha256 of their names, so the files are the same on every machine.
"""

import csv
import hashlib
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from reportlab.pdfgen.canvas import Canvas

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

import making  # noqa: E402

from fathoms.corpora import write_questions  # noqa: E402
from fathoms.extras.questions.computed.choosing import choose  # noqa: E402
from fathoms.extras.questions.computed.table import Table, read_facts  # noqa: E402

NAMES = [
    first + second
    for second in ("mere", "wick", "ford", "holm")
    for first in (
        "Aln",
        "Bram",
        "Corl",
        "Dunn",
        "Esk",
        "Farn",
        "Gris",
        "Hald",
        "Kest",
        "Lorn",
        "Morv",
        "Pell",
    )
]
DISTRICTS = ("Northmoor", "Estermark", "Sallowby", "Wendle")
MAKERS = ("Halvard", "Brix and Toll", "Ostrel", "Lumet")
PEOPLE = ("I. Quill", "M. Farrow", "T. Oake", "S. Linnet", "R. Abel")
CONTRADICTED = (2, 14, 26, 38)
"""Stations with two entries of one day that give different figures; all in one district, with pumps of one
maker, so that the sums of the others are certain."""
CHANGED = (0, 4, 9, 13, 17, 23, 31, 44)
"""Stations that were surveyed again some years later, with another pump."""
LEAST = 6
"""The fewest documents that a question rests on."""
FIELDS = (
    "station",
    "district",
    "pump maker",
    "rated flow",
    "storage",
    "year of commissioning",
    "inspector",
    "survey date",
)


class Survey(NamedTuple):
    """What one document says, each value as it writes it, with its unit."""

    name: str
    station: str
    values: dict[str, tuple[str, str]]


def figure(what: str, below: int) -> int:
    """A whole number from 0 to ``below`` that follows from the words."""
    return int(hashlib.sha256(what.encode()).hexdigest()[:12], 16) % below


def surveys() -> list[Survey]:
    """All sixty, in the order of their numbers."""
    entries = [(at, 0) for at in range(len(NAMES))]
    entries += [(at, 1) for at in (*CHANGED, *CONTRADICTED)]
    entries.sort(key=lambda entry: figure(f"order {entry}", 10**9))
    return [_survey(number, at, again) for number, (at, again) in enumerate(entries, 1)]


def _survey(number: int, at: int, again: int) -> Survey:
    """The survey of a station, or its second one."""
    station, contradicted = NAMES[at], at in CONTRADICTED
    district = 2 if contradicted else (at + at // 12) % 4
    maker = 3 if contradicted else figure(f"maker {station}", 3)
    flow = 18 * (5 + figure(f"flow {station}", 40))
    storage = 50 * (4 + figure(f"storage {station}", 36))
    day = date(2016 + figure(f"year {station}", 3), 1 + at % 12, 1 + figure(f"day {station}", 28))
    if again and contradicted:
        storage += 150
        flow += 36 if at != CONTRADICTED[-1] else 0
    elif again:
        day = date(day.year + 3 + figure(f"later {station}", 3), day.month, day.day)
        flow += 54
        maker = (maker + figure(f"other {station}", 2)) % 3
    in_litres = figure(f"unit {number}", 3) == 0
    return Survey(
        f"survey-{number:02}.pdf",
        station,
        {
            "station": (station, ""),
            "district": (DISTRICTS[district], ""),
            "pump maker": (MAKERS[maker], ""),
            "rated flow": (f"{flow / 3.6:g}", "l/s") if in_litres else (str(flow), "m³/h"),
            "storage": (f"{storage:,}", "m³"),
            "year of commissioning": (str(1951 + figure(f"built {station}", 60)), ""),
            "inspector": (PEOPLE[figure(f"who {station} {day}", len(PEOPLE))], ""),
            "survey date": (_written(day, number), ""),
        },
    )


def _written(day: date, number: int) -> str:
    """A date as some of the documents write it."""
    month = f"{day:%B}"
    return (day.isoformat(), f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}")[number % 3]


def lines(survey: Survey, number: int) -> Iterator[str]:
    """The lines of a document, in one of three forms."""
    said = {field: " ".join(filter(None, value)) for field, value in survey.values.items()}
    other = NAMES[(NAMES.index(survey.station) + 7) % len(NAMES)]
    remark = f"In dry summers water is passed on to {other}. The next visit is due in {3 + number % 3} years."
    if number % 3 == 0:
        yield f"Pumping station {said['station']}: survey of {said['survey date']}"
        yield ""
        yield from (f"{field.capitalize()}: {said[field]}" for field in FIELDS)
    elif number % 3 == 1:
        yield "Water board, technical department"
        yield f"{said['survey date']}"
        yield ""
        yield f"The pumping station {said['station']} in the district of {said['district']} was surveyed on"
        yield f"{said['survey date']} by {said['inspector']}. It was put into service in"
        yield f"{said['year of commissioning']}."
        yield f"Its pump was made by {said['pump maker']}. The rated flow of the station is"
        yield f"{said['rated flow']}, and the storage of its tank is {said['storage']}."
    else:
        yield f"Register entry: {said['station']}, district {said['district']}"
        yield f"Entered after the survey on {said['survey date']} (inspector {said['inspector']})"
        yield ""
        yield f"- commissioned {said['year of commissioning']}"
        yield f"- pump by {said['pump maker']}, rated flow {said['rated flow']}"
        yield f"- storage {said['storage']}"
    yield ""
    yield remark


def build(out: Path) -> None:
    """Write the documents, the table and the questions into ``out``."""
    found = surveys()
    for number, survey in enumerate(found, 1):
        canvas = Canvas(str(out / survey.name), pagesize=(420, 300), invariant=True, pageCompression=0)
        text = canvas.beginText(36, 250)
        text.setFont("Helvetica", 10, leading=16)
        text.textLines("\n".join(lines(survey, number)))
        canvas.drawText(text)
        canvas.showPage()
        canvas.save()
    with (out / "facts.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["document", "page", "field", "value", "unit"])
        table.writerows([one.name, 1, field, *one.values[field]] for one in found for field in FIELDS)
    facts = Table(read_facts(out / "facts.csv"), about="station", dated="survey date")
    (out / "questions.json").unlink(missing_ok=True)
    write_questions(out / "questions.json", choose(facts, n=20, least=LEAST).questions)


def report(out: Path) -> Iterator[str]:
    """Say how many documents were written."""
    sizes = [path.stat().st_size for path in out.glob("*.pdf")]
    yield f"{len(sizes)} documents, {sum(sizes):,} bytes"


if __name__ == "__main__":
    making.main(build, HERE, __doc__, report)

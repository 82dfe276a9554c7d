"""The structure of tables: drawn by hand in letters, set in the sample corpus, and in published papers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.extras.docling_offline.boxes import Box
from fathoms.extras.docling_offline.table_grid import Grid, read_table
from fathoms.extras.docling_offline.table_lines import Rules, Word, lines, read_rules
from fathoms.ingest import parse_in_child
from tests.support.docling_samples import OFFLINE, SAMPLE, needs_docling, sample

WIDE, HIGH, LEADING = 5, 12, 15
"""The size of a letter and the distance of lines, in points, of a table that is drawn in letters."""


def draw(picture: str) -> tuple[list[Word], Rules]:
    """A table from letters: each word where it stands, `---` a rule below the line before it."""
    words, rules, top = [], [], 0
    for line in picture.strip("\n").split("\n"):
        if set(line) <= set("- "):
            heights = {"top": top - 2.0, "bottom": top - 1.0}
            found = re.finditer("-+", line)
            rules += [Box(left=m.start() * WIDE, right=m.end() * WIDE, **heights) for m in found]
            continue
        for match in re.finditer(r"\S+", line):
            box = Box(match.start() * WIDE, top, match.end() * WIDE, top + HIGH)
            words.append(Word(box, match.group()))
        top += LEADING
    return words, read_rules(rules, Box(-99, -99, 999, 999))


def grid(picture: str) -> Grid:
    """The structure of a table from letters."""
    return read_table(*draw(picture))


def rows(found: Grid) -> list[list[str]]:
    """The text at every place; a cell that spans several is at each of them."""
    at = found.covering()
    return [
        [at[row, column].text if (row, column) in at else "" for column in range(found.columns)]
        for row in range(found.rows)
    ]


def test_columns_are_the_white_that_goes_down() -> None:
    found = grid("""
Tool         Mass  Made in
Bow saw      1.20  Lune
Adze         0.85  Varn Bay
Long axe    12.00  Lune
""")
    assert rows(found) == [
        ["Tool", "Mass", "Made in"],
        ["Bow saw", "1.20", "Lune"],
        ["Adze", "0.85", "Varn Bay"],
        ["Long axe", "12.00", "Lune"],
    ]
    assert [cell.text for cell in found.cells if cell.heading] == ["Tool", "Mass", "Made in"]
    assert [cell.text for cell in found.cells if cell.label] == ["Bow saw", "Adze", "Long axe"]


def test_an_empty_place_has_no_cell() -> None:
    found = grid("""
Site    2021   2022
------------------
North      7      1
South             4
East       2
""")
    assert rows(found)[2:] == [["South", "", "4"], ["East", "2", ""]]
    assert (2, 1) not in found.covering()


def test_a_short_rule_shows_what_a_heading_spans() -> None:
    found = grid("""
-----------------------------------------
           Water (mm)       Yield (t)
           -------------    -------------
Plot       2021     2022    2021     2022
-----------------------------------------
Calendar    398      426    3.48     3.36
Demand      331      363    3.41     3.35
-----------------------------------------
""")
    assert rows(found)[:2] == [
        ["", "Water (mm)", "Water (mm)", "Yield (t)", "Yield (t)"],
        ["Plot", "2021", "2022", "2021", "2022"],
    ]
    assert rows(found)[2] == ["Calendar", "398", "426", "3.48", "3.36"]
    assert {cell.row for cell in found.cells if cell.heading} == {0, 1}


def test_a_heading_spans_the_columns_whose_middle_it_stands_over() -> None:
    found = grid("""
               Nights lost to
Month      Cloud    Wind   Broken
---------------------------------
January       11       5        0
February       9       4        1
""")
    assert rows(found)[0] == ["", "Nights lost to", "Nights lost to", "Nights lost to"]


def test_headings_over_one_rule_share_the_columns() -> None:
    found = grid("""
             Mass (%)           Force (%)
        ----------------------------------
Grade    Water   Bleach    Water   Bleach
------------------------------------------
A         0.02     3.42      0.4      0.6
B         0.02     2.97      0.3      0.5
""")
    assert rows(found)[0] == ["", "Mass (%)", "Mass (%)", "Force (%)", "Force (%)"]


def test_a_heading_spans_columns_that_have_none() -> None:
    found = grid("""
      Income             Expenses
-----------------------------------
Grant          412    Salaries  437
Shop sales      46    Heating    51
""")
    assert rows(found)[0] == ["Income", "Income", "Expenses", "Expenses"]


def test_headings_that_stand_close_are_told_apart() -> None:
    found = grid("""
Grade       Median Bubbling
              pore pressure
---------------------------
A              3.9       75
B              2.6      114
C              1.7      171
D              1.1      266
""")
    assert rows(found)[0] == ["Grade", "Median pore", "Bubbling pressure"]


def test_a_cell_goes_on_where_its_next_word_did_not_fit() -> None:
    found = grid("""
Code   Meaning               Do
--------------------------------
E01    Pressure too high    Stop
       and line blocked
E02    Air                  Prime
E03    Battery nearly out   Charge
""")
    assert rows(found)[1:] == [
        ["E01", "Pressure too high and line blocked", "Stop"],
        ["E02", "Air", "Prime"],
        ["E03", "Battery nearly out", "Charge"],
    ]


def test_a_word_cut_at_the_end_of_a_line_is_joined() -> None:
    found = grid("""
No    Name of puzzle
--------------------
1     Labor Extrava-
      ganza
2     Short
3     Potluck for all
""")
    assert rows(found)[1] == ["1", "Labor Extravaganza"]


def test_a_line_of_numbers_is_a_row() -> None:
    found = grid("""
Equation   Error   Ours
-----------------------
Heat       MMSE    0.24
           SMSE    0.94
           FPD     1.22
""")
    assert [row[1:] for row in rows(found)[1:]] == [["MMSE", "0.24"], ["SMSE", "0.94"], ["FPD", "1.22"]]


def test_a_label_between_rules_names_all_rows_between_them() -> None:
    found = grid("""
Equation   Error   Ours
-----------------------
           MMSE    0.24
Heat       SMSE    0.94
           FPD     1.22
-----------------------
Burgers    MMSE    0.05
           FPD     0.10
-----------------------
""")
    assert [row[0] for row in rows(found)[1:]] == ["Heat"] * 3 + ["Burgers"] * 2


def test_a_label_half_way_between_lines_is_no_row() -> None:
    words, rules = draw("""
Task   Set      Score
---------------------
       DocVQA    82.8
       DUDE      54.6
---------------------
NLI    TabFact   77.1
""")
    between = next(word for word in words if word.text == "DocVQA").box.top + LEADING / 2
    words.append(Word(Box(0, between, 15, between + HIGH), "VQA"))
    assert [row[0] for row in rows(read_table(words, rules))] == ["Task", "VQA", "VQA", "NLI"]


def test_a_value_and_its_error_are_one_cell() -> None:
    found = grid("""
Model   Error        Time
-------------------------
Small   0.31 ± 0.02    12
Large   0.27 ± 0.01    40
Ours    0.11 ± 0.01    40
None    0.99 ± 0.00     1
""")
    assert [row[1] for row in rows(found)[1:]] == ["0.31 ± 0.02", "0.27 ± 0.01", "0.11 ± 0.01", "0.99 ± 0.00"]


def test_a_line_over_all_columns_does_not_hide_them() -> None:
    found = grid("""
Item      2020   2021
---------------------
Fares        8     11
Goods        3      4
Costs of keeping    -
Crews       19     20
Fuel         6      7
Repairs      4      5
Dues         2      2
""")
    assert found.columns == 3
    assert rows(found)[4] == ["Crews", "19", "20"]


def test_a_vertical_rule_parts_columns_without_white() -> None:
    words = [Word(Box(left, top, left + 9, top + 12), "x") for left in (0, 12) for top in (0, 15, 30)]
    assert read_table(words).columns == 1
    assert read_table(words, Rules(vertical=(Box(10.5, 0, 10.5, 42),))).columns == 2


def test_an_exponent_stands_close() -> None:
    words = [
        Word(Box(0, 0, 20, 10), "g/cm"),
        Word(Box(20.3, -2, 24, 4), "3"),
        Word(Box(28, 0, 40, 10), "dry"),
    ]
    (line,) = lines(words)
    assert line.text == "g/cm3 dry"


def test_a_paragraph_has_one_column() -> None:
    found = grid("""
The plots lie on the left bank of the river, four
kilometres below the bridge. Their soil is a silt
loam, and rain between sowing and harvest came to
little in both years of the trial, as it often is.
""")
    assert found.columns == 1


def test_pieces_of_lines_from_ocr_make_a_table() -> None:
    # what EasyOCR reads of the table on the scanned page of the sample corpus
    pieces = [
        *((112, 515, 150, 525, "Frame"), (219, 515, 281, 528, "Port (mm)")),
        *((320, 515, 417, 528, "Starboard (mm)"), (126, 535, 134, 544, "8"), (240, 535, 258, 546, "9.6")),
        *((359, 536, 377, 547, "9.4"), (124, 555, 138, 565, "15"), (240, 555, 258, 566, "8.8")),
        *((359, 556, 376, 567, "9.1"), (123, 575, 138, 585, "22"), (240, 575, 258, 586, "7.4")),
        *((359, 576, 376, 587, "8.2"), (123, 594, 137, 606, "31"), (240, 596, 258, 607, "9.0")),
        (358, 597, 376, 607, "8.9"),
    ]
    assert rows(read_table(Word(Box(*box), text) for *box, text in pieces)) == [
        ["Frame", "Port (mm)", "Starboard (mm)"],
        ["8", "9.6", "9.4"],
        ["15", "8.8", "9.1"],
        ["22", "7.4", "8.2"],
        ["31", "9.0", "8.9"],
    ]


def test_nothing_is_an_empty_grid() -> None:
    assert read_table([]) == Grid(0, 0, ())


sides = st.floats(0, 400, allow_nan=False).map(lambda value: round(value, 1))
scattered = st.lists(
    st.builds(
        lambda left, top, width, text: Word(Box(left, top, left + width, top + 10), text),
        sides,
        sides,
        st.floats(3, 60),
        st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True),
    ),
    max_size=25,
)
drawn = st.lists(
    st.builds(lambda x, y, width: Box(x, y, x + width, y + 0.5), sides, sides, st.floats(9, 400))
)


@pytest.mark.slow
@given(scattered, drawn)
def test_every_word_is_in_one_cell_and_no_two_cells_meet(words: list[Word], boxes: list[Box]) -> None:
    found = read_table(words, read_rules(boxes, Box(0, 0, 500, 500)))
    letters = "".join(sorted("".join(cell.text for cell in found.cells).replace(" ", "")))
    assert letters == "".join(sorted("".join(word.text for word in words)))
    assert len(found.covering()) == sum(cell.rows * cell.columns for cell in found.cells)
    assert all(row < found.rows and column < found.columns for row, column in found.covering())


def test_the_grid_in_otsl() -> None:
    assert Grid(0, 0, ()).otsl() == []
    found = grid("""
        Sum of all
        -----------
Tool    2021   2022
-------------------
Adze       7
Axe        8      9
""")
    assert found.otsl() == [
        *("ecel", "fcel", "lcel", "nl"),
        *("fcel", "fcel", "fcel", "nl"),
        *("fcel", "fcel", "ecel", "nl"),
        *("fcel", "fcel", "fcel", "nl"),
    ]


def source_tables(path: Path) -> Iterator[tuple[list[list[str]], list[list[str]]]]:
    """The heads and bodies of the tables in a source of the sample corpus."""
    text = re.sub(r"</?i>|\^", "", path.read_text())
    for block in re.findall(r"^!(?:wide )?table .*\n.*\n((?:.*\|.*\n|---\n)+)", text, re.MULTILINE):
        head, body = (
            [[cell.strip() for cell in line.split("|")] for line in part.strip("\n").split("\n")]
            for part in block.split("---\n")
        )
        for row in head:
            for column, cell in enumerate(row):
                row[column] = row[column - 1] if cell == "<" else cell
        yield head, body


def found_tables(native: str) -> list[tuple[list[list[str]], list[list[str]]]]:
    """The heads and bodies of the tables in a Docling document."""
    from docling_core.types.doc import DoclingDocument

    found = []
    for table in DoclingDocument.model_validate(json.loads(native)["document"]).tables:
        head = [[cell.text for cell in row] for row in table.data.grid if any(c.column_header for c in row)]
        body = [[cell.text for cell in row] for row in table.data.grid[len(head) :]]
        found.append((head, body))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((SAMPLE / "source").glob("*.txt")), ids=lambda path: path.stem)
def test_every_cell_of_the_sample_corpus_is_in_its_place(path: Path) -> None:
    needs_docling()
    native = sample()[0][path.stem.partition("-")[0]].native
    assert native is not None
    found = found_tables(native)
    for head, body in source_tables(path):
        assert [row for other, part in found if other == head for row in part] == body


FACTS = [
    *(
        ("2302.00923v5", 3, row, column, value)
        for row, column, value in [
            ("Few-Shot-PoT", "Model / Engine", "GPT-3.5 (175B)"),
            ("Fine-Tuned T5 XXL", "Training", "KD"),
            ("UnifiedQA", "CoT Role", "Explanation"),
        ]
    ),
    *(
        ("2302.00923v5", 9, row, column, value)
        for row, column, value in [
            ("LLaVA", "SOC", "95.95"),
            ("InstructBLIP", "IMG", "90.70"),
            ("CoTLarge", "Avg", "90.45"),
            ("Human", "G7-12", "82.42"),
            ("text-davinci-003", "TXT", "75.12"),
            ("BAN", "Size", "112M"),
            ("Chameleon (GPT-4)", "Avg", "86.54"),
            ("ViLT", "LAN", "60.27"),
        ]
    ),
    *(
        ("2401.00908v1", 6, row, column, value)
        for row, column, value in [
            ("KIE|Internal classification", "Expected response", "Associated key annotation"),
            ("NLI", "Template type", "MCQ"),
            ("CLS|Internal classification", "Expected response", "class annotation"),
        ]
    ),
    *(
        ("2401.00908v1", 8, row, column, value)
        for row, column, value in [
            ("Layers", "DocLLM-7B", "36"),
            ("Hidden size", "DocLLM-1B", "1536"),
        ]
    ),
    *(
        ("2401.00908v1", 9, row, column, value)
        for row, column, value in [
            ("VQA|DUDE", "DocLLM-7B", "47.2"),
            ("VQA|BizDocs", "Llama2+OCR", "48.8"),
            ("VQA|VisualMRC", "mPLUG-DocOwl", "188.8"),
            ("NLI|TabFact", "UReader", "67.6"),
            ("KIE|BizDocs", "DocLLM-1B", "95.4"),
            ("KIE|PWC", "DocLLM-7B", "29.06"),
            ("CLS|BizDocs", "GPT-4+OCR", "84.9"),
        ]
    ),
    *(
        ("2401.00908v1", 10, row, column, value)
        for row, column, value in [
            ("GPT-4+OCR", "DocVQA|VQA", "82.8"),
            ("DocLLM-7B", "KLC|KIE", "49.9"),
            ("DocLLM-7B", "BizDocs|KIE", "72.6"),
            ("S2S + T2T", "NTP Accuracy", "39.12"),
        ]
    ),
    *(
        ("2502.08859v2", 6, row, column, value)
        for row, column, value in [
            ("O1", "Accuracy (%)|Normal", "7.0"),
            ("GEMINI 2.0 FLASH THINKING", "Accuracy (%)|Normal", "1.4"),
            ("GPT-4O", "Accuracy (%)|Hard", "0.0"),
            ("GPT-4O", "Raw Format (%)", "1.1"),
        ]
    ),
    *(
        ("2506.04171v1", 7, row, column, value)
        for row, column, value in [
            ("Heat Equation|FPD", "PCFM", "1.22"),
            ("Navier-Stokes|CE (IC)", "FFM", "328"),
            ("Navier-Stokes|MMSE", "ECI", "5.23"),
            ("Reaction-Diffusion IC|SMSE", "D-Flow", "6.86"),
            ("Burgers BC|CE (BC)", "ECI", "20.3"),
            ("Burgers BC|MMSE", "D-Flow", "0.224"),
            ("Burgers IC|FPD", "DiffusionPDE", "35.8"),
        ]
    ),
]
"""What a reader sees in published tables: paper, page, words of the row, words of its column, value."""
WRONG = [
    # a heading over three columns with no rule beneath it looks like that of the middle one
    ("2401.00908v1", 10, "Llama2+OCR", "BizDocs|VQA", "48.4"),
    ("2401.00908v1", 10, "DocLLM-1B", "BizDocs|CLS", "20.8"),
    # two columns are divided into four half way down the table
    ("2401.00908v1", 8, "Warmups", "DocLLM-1B|Instruct-tune", "500"),
    ("2401.00908v1", 8, "Weight decay", "DocLLM-7B|Pre-train", "0.1"),
]
"""What is known not to come out."""


@pytest.fixture(scope="module")
def papers(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """The Markdown of the pages with those tables, converted in one document."""
    needs_docling()
    pages = sorted({(paper, page) for paper, page, *_ in FACTS})
    path = tmp_path_factory.mktemp("papers") / "pages.pdf"
    with pdfium.PdfDocument.new() as part:
        for paper, page in pages:
            with pdfium.PdfDocument(shared / "fathoms-rag" / "papers" / f"{paper}.pdf") as document:
                part.import_pages(document, [page - 1])
        part.save(path)
    document = parse_in_child(OFFLINE, path)
    return {page: found.text for page, found in zip(pages, document.pages, strict=True)}


def holds(markdown: str, row: str, column: str, value: str) -> bool:
    """Is there a Markdown table with that value in a row and a column of these words?"""
    for table in re.findall(r"(?:^\|.*\n?)+", markdown, re.MULTILINE):
        head, _, *body = (
            [cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().split("\n")
        )
        for cells in body:
            labelled = all(word in " ".join(cells) for word in row.split("|"))
            for name, cell in zip(head, cells, strict=True):
                if labelled and cell == value and all(word in name for word in column.split("|")):
                    return True
    return False


@pytest.mark.slow
def test_tables_of_published_papers(papers: dict[tuple[str, int], str]) -> None:
    missed = [fact for fact in FACTS if not holds(papers[fact[:2]], *fact[2:])]
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("fact", WRONG, ids=lambda fact: fact[3])
@pytest.mark.xfail(strict=True, reason="no rule and no white says so")
def test_tables_that_geometry_alone_does_not_tell(
    papers: dict[tuple[str, int], str], fact: tuple[Any, ...]
) -> None:
    assert holds(papers[fact[:2]], *fact[2:])

"""Making, checking and editing question sets.

    text = scaffold(documents, ".csv")              # two rows per PDF, to be filled in
    found = check(path, documents, reading)         # findings, each with file, line and column
    figures = describe(file.questions, documents)   # counts, phrase lengths, interval widths

Each rule of `check` is one function: those in `file_rules` look only at the question file, those in
`document_rules` compare it with the parsed documents. `making` drafts a set from PDFs by a model, `editing`
is the page on which people accept and mend questions, `computed` makes
questions over many documents from a table of facts, and `commands` has the command line of all of them.
"""

from fathoms.hooks import Command

COMMANDS = {
    "build": Command(
        "commands.build:app",
        "Make a question set from PDFs (fathoms build PDFS), extract a table of facts, or show a graph.",
    ),
    "data inject": Command("commands.inject:inject"),
    "questions init": Command("commands.files:init"),
    "questions check": Command("commands.files:check"),
    "questions stats": Command("commands.files:stats"),
    "questions nuggets": Command("commands.files:nuggets"),
    "questions facts": Command("commands.facts:facts"),
    "questions from-facts": Command("commands.from_facts:from_facts"),
    "questions add": Command("commands.add:add"),
    "questions candidates": Command("commands.candidates:candidates"),
    "questions filter": Command("commands.filter:filter_questions"),
    "questions ambiguity": Command("commands.ambiguity:ambiguity"),
    "questions label": Command("commands.label:label"),
    "questions inspect": Command("commands.inspecting:inspect"),
    "questions dedupe": Command("commands.dedupe:dedupe"),
    "questions perturb": Command("commands.perturb:perturb"),
    "questions edit": Command("commands.edit:edit"),
}

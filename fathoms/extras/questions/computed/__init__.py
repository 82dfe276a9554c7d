"""Questions over many documents whose gold answers are computed from a table of facts.

    facts = read_facts(path)                             # document, page, field, value, unit
    table = tabulate(facts, about="station", dated="survey date")
    found = choose(table, n=20)                          # count, list, sum, argmax, compare, changed, ...

Nothing is drafted: the answer of each question follows from the table by a rule (`rules`), and the question
names the rule, the rows, and as evidence their documents and pages.
"""

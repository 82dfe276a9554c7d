"""Sentences, words and stems are those of NLTK."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from fathoms.models.punkt import pieces, split
from fathoms.models.stems import stem
from fathoms.models.words import sentence_words

ABBREVIATIONS = {"dr", "e.g", "fig", "u.s"}
WORDS = [
    "tower",
    "The",
    "Dr",
    "e.g",
    "x-fig",
    "U.S",
    "B",
    "41.5",
    "1,000",
    "[1]",
    "(image2)",
    "$5",
    "٣",
    "no",
    "Word",
    "B. Word",
]
LABELS = [
    *".?!.;:,()[]{}'\"*@&_…»”“„\u2018\u2019\u2013",
    ". .",
    "...",
    "--",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    "\u2003",
]
QUOTED = [
    "cannot",
    "cannot",
    "end.",
    "end.)",
    "can't",
    "won't",
    "it's",
    "He'LL",
    "we're",
    "'tis",
    "'twas",
    "d'ye",
    "more'n",
]
RUNS = ["gonna", "wanna", "lemme", "``", "''", "'", '"', "a--b", "Wi-Fi", "5%", "x...", "ÜBER,", "a/b", "€"]


def drawn(*pieces: str, count: int = 2500) -> Iterator[str]:
    """Texts of a few pieces each, the same in every run."""
    random = Random(0)
    for _ in range(count):
        yield "".join(random.choices(pieces, k=random.randint(1, 8)))


def test_sentences_are_those_of_nltk() -> None:
    # imported here, because NLTK imports scipy and sklearn
    from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer_internal
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = ABBREVIATIONS
    punkt = PunktSentenceTokenizer(parameters)
    untrained = PunktSentenceTokenizer()
    for text in drawn(*WORDS, *LABELS, *LABELS):
        assert split(text, ABBREVIATIONS) == punkt.tokenize(text)
        assert pieces(text) == split_by_sentence_tokenizer_internal(text, untrained), "as LlamaIndex cuts"


def test_words_are_those_of_nltk() -> None:
    from nltk.tokenize import NLTKWordTokenizer

    for text in drawn(*WORDS, *LABELS, *QUOTED, *RUNS):
        assert sentence_words(text.rstrip()) == NLTKWordTokenizer().tokenize(text.rstrip())


ENDINGS = ["s", "es", "ies", "ied", "eed", "ed", "ing", "y", "e", "ll", "logi", "alli", "bli", "ational"]
ENDINGS += ["tional", "enci", "izer", "ization", "ator", "ousness", "iviti", "icate", "ative", "ful", "ness"]
ENDINGS += [
    "ance",
    "ement",
    "ment",
    "sion",
    "tion",
    "ion",
    "ou",
    "ism",
    "ate",
    "ous",
    "ize",
    "at",
    "bl",
    "iz",
]


def test_stems_are_those_of_nltk() -> None:
    from nltk.stem.porter import PorterStemmer

    porter = PorterStemmer()
    for word in drawn(*"aeiouybcdlstwxz", *ENDINGS):
        assert stem(word) == porter.stem(word)


def test_stems_of_porters_paper() -> None:
    """Porter 1980, and words that NLTK treats otherwise."""
    words = (
        "caresses ponies caress cats agreed plastered motoring sing hopping falling filing happy relational"
    )
    stems = "caress poni caress cat agre plaster motor sing hop fall file happi relat"
    assert " ".join(map(stem, words.split())) == stems
    assert [stem(word) for word in ("Dying", "dies", "skies", "enjoy", "is")] == [
        *("die", "die", "sky", "enjoy", "is")
    ]

"""BM25 against scores worked out by hand."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import MissingExtraError
from fathoms.models.caching import ReplyCache
from fathoms.paths import SEAL
from fathoms.retrieve import BM25, Index, bm25_building
from fathoms.runs.cache import Cache

# Three chunks of 3, 2 and 5 words: the mean is 10/3. With k1 = 1.5 and b = 0.75 the bottom of the fraction
# for a word that stands tf times is tf + 1.5 * (0.25 + 0.75 * length / (10/3)):
#   c0: tf + 1.3875, so valve (tf 2) has 2 / 3.3875 = 0.590406 and kestrel (tf 1) 1 / 2.3875 = 0.418848
#   c1: tf + 1.05, so kestrel has 1 / 2.05 = 0.487805
# valve stands in n = 1 of N = 3 chunks, kestrel in n = 2:
#   lucene     ln(1 + 2.5/1.5) = 0.980829    ln(1 + 1.5/2.5) = 0.470004
#   robertson  ln(2.5/1.5)     = 0.510826    ln(1.5/2.5) < 0, so 0
#   atire      ln(3)           = 1.098612    ln(3/2) = 0.405465, and fractions times k1 + 1 = 2.5
TEXTS = ["Kestrel valve, valve", "kestrel seed", "voles gnawed three cables underground"]
# and lucene's c0, for one, is 0.980829 * 0.590406 + 0.470004 * 0.418848 = 0.775948.
BY_HAND = {
    "lucene": {"c0": 0.775948, "c1": 0.229270},
    "robertson": {"c0": 0.301594},
    "atire": {"c0": 2.046139, "c1": 0.494470},
}


def again(index: Index) -> Index:
    """The same index as another process has it, which has made nothing of it yet."""
    return replace(index, built={})


@pytest.mark.slow  # a new interpreter, because bm25s is imported once
def test_jax_is_left_alone(tmp_path: Path) -> None:
    """bm25s imports and starts JAX where it can, and JAX takes three quarters of the memory of a GPU."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("print('started')\n")
    (tmp_path / "jax" / "lax.py").write_text("def top_k(*_): print('computed')\n")
    ours = "from fathoms.retrieve.bm25_index import libraries as it; it()"
    code = "import sys; sys.path.append(sys.argv[1]); {}; print('none'); import jax.lax"

    def printed(first: str) -> list[str]:
        command = [sys.executable, "-c", code.format(first), str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert printed("import bm25s") == ["started", "computed", "none"]
    assert printed(ours) == ["none", "started"]  # who wants JAX later finds it


@pytest.mark.parametrize("method", sorted(BY_HAND))
def test_scores_by_hand(make, ask, method: str) -> None:
    retriever = BM25(method=method, stemmer="none", stopwords="none")
    (found,) = retriever.search(make(TEXTS), ask("valve kestrel?"))
    assert [hit.chunk.id for hit in found] == list(BY_HAND[method])
    assert [hit.score for hit in found] == pytest.approx(list(BY_HAND[method].values()), abs=1e-6)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))


def test_the_options_of_the_formula(make, ask) -> None:
    """k1 = 0 counts presence alone: every chunk with the word scores its idf, ln(1.6)."""
    (found,) = BM25(k1=0, stemmer="none").search(make(TEXTS), ask("kestrel"))
    assert [hit.score for hit in found] == pytest.approx([0.470004] * 2, abs=1e-6)
    assert [hit.chunk.id for hit in found] == ["c0", "c1"], "equal scores keep the order of the chunks"
    # b = 0: length does not count, so 1 / (1 + 1.5) of the idf each
    (found,) = BM25(b=0, stemmer="none").search(make(TEXTS), ask("kestrel"))
    assert [hit.score for hit in found] == pytest.approx([0.470004 / 2.5] * 2, abs=1e-6)


def test_a_word_that_stands_twice_in_the_question_counts_twice(make, ask) -> None:
    once, twice = BM25().search(make(TEXTS), ask("seed", "seed seed"))
    assert twice[0].score == pytest.approx(2 * once[0].score)


@pytest.mark.parametrize("question", ["zebra", "", "the of and", "?!"])
def test_no_word_in_common_is_no_hit(make, ask, question: str) -> None:
    assert BM25().search(make(["the seed of the valve", "cables"]), ask(question)) == [()]


@pytest.mark.parametrize("texts", [[], ["", "  "], ["the of"]])
def test_nothing_to_find(make, ask, texts: list[str]) -> None:
    assert BM25().search(make(texts), ask("valve")) == [()]


def test_stems_and_stopwords(make, ask) -> None:
    index = make(["watering the fields", "the cat"])
    stem, exact = (
        BM25(stemmer=stemmer).search(index, ask("water a field"))[0] for stemmer in ("english", "none")
    )
    assert [hit.chunk.id for hit in stem] == ["c0"]
    assert exact == ()
    assert [hit.chunk.id for hit in BM25(stopwords="none").search(index, ask("the"))[0]] == ["c1", "c0"]


def test_single_characters_are_words(make, ask) -> None:
    (found,) = BM25().search(make(["Table 3: faults", "Table 4: yields"]), ask("what does table 4 say"))
    assert found[0].chunk.id == "c1"


def test_top_k_and_the_text_that_is_searched_with(make, ask) -> None:
    index = make(["seed one", "seed two", "seed three", "valve"])
    assert len(BM25(top_k=2).search(index, ask("seed"))[0]) == 2
    (found,) = BM25(query="valve {question}", top_k=1).search(index, ask("x"))
    assert [hit.chunk.text for hit in found] == ["valve"]


def test_headers_are_searched(make, ask) -> None:
    index = make(["one", "two"])
    index.chunks[1] = index.chunks[1].model_copy(update={"header": "pelnorite.pdf, page 3"})
    assert BM25().search(index, ask("pelnorite"))[0][0].chunk.id == "c1"


# Sentences without spaces, or with inflected words, and a question that shares a word with one of them.
LANGUAGES = {
    "Chinese": (["研究人员测量了塔的高度为四十五米。", "公司在上海证券交易所上市。"], "哪家交易所?", 1),
    "Chinese, traditional": (["董事會批准了年度利潤分配方案。", "該公司在臺灣證券交易所上市。"], "利潤", 0),
    "Japanese": (
        ["減価償却費は定額法により計算された。", "東京都の人口は増えている。"],
        "償却方法",
        0,
    ),
    "Japanese, half-width": (["滑走路の長さは4000メートルです。", "空港は海にある。"], "何ﾒｰﾄﾙですか", 0),
    "Korean": (["탑에서 강이 보인다.", "이 회사의 영업이익은 전년보다 감소하였다."], "이익이 얼마입니까", 1),
    "Korean, one syllable": (["탑에서 한강을 본다.", "회사는 성장하였다."], "탑의 높이", 0),
    "Thai": (["เด็กไปโรงเรียนทุกวัน", "ฝนตกหนักมาก"], "โรงเรียน", 0),
    "Arabic": (["يبلغ ارتفاع البُرْج أربعين مترا.", "والمدرسة في المدينة."], "أين مدرسة", 1),
    "Arabic, with vowels": (["يبلغ ارتفاع البُرْج أربعين مترا.", "في المدينة."], "برج", 0),
    "Persian": (["کتاب‌ها در کتابخانه‌ی شهر است.", "باران می‌بارد."], "كتابخانه", 0),  # noqa: RUF001
    "mixed": (["The tower 东京塔の高さ is 333 m.", "The bridge."], "塔", 0),
}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_words_inside_other_scripts(make, ask, language: str) -> None:
    """Each is found by `auto`, and by `words` only if it happens to stand alone."""
    pytest.importorskip("icu4py")
    texts, question, expected = LANGUAGES[language]
    (found,) = BM25(tokenizer="auto").search(make(texts), ask(question))
    assert found[0].chunk.id == f"c{expected}"
    assert len(found) == 1 or found[0].score > found[1].score
    assert BM25().search(make(texts), ask(question)) == [()], "the words are found without the tokenizer, too"


def test_auto_changes_nothing_about_english(make, ask) -> None:
    index, questions = make([*TEXTS, "Table 4: naïve don't-cares, 3.5 µm"]), ask("valves", "naïve 3.5 tables")
    assert BM25(tokenizer="auto").search(index, questions) == BM25().search(index, questions)


def test_the_default_tokenizer_is_not_in_the_fingerprint() -> None:
    options = BM25().identity()["options"]
    assert sorted(options) == ["b", "k1", "kind", "method", "query", "stemmer", "stopwords", "top_k"]
    auto = BM25(tokenizer="auto").identity()
    assert auto["options"]["tokenizer"] == "auto"
    assert "icu4py" in auto["versions"]


def test_a_stored_index_ranks_as_the_one_it_was_stored_from(make, ask) -> None:
    """The stored one is used: it finds words that the chunks have lost since."""
    index, questions = make([*TEXTS, "Größe 3 µm, größer"]), ask("valve kestrel", "größe 3", "zebra")
    built, loaded = BM25().search(index, questions), BM25().search(again(index), questions)
    assert [[(hit.chunk.id, hit.score) for hit in row] for row in loaded] == [
        [(hit.chunk.id, hit.score) for hit in row] for row in built
    ]
    emptied = replace(again(index), chunks=[chunk.model_copy(update={"text": ""}) for chunk in index.chunks])
    assert [hit.chunk.id for hit in BM25().search(emptied, questions)[0]] == ["c0", "c1"]
    refreshed = replace(emptied, refresh=True, built={})
    assert BM25().search(refreshed, questions)[0] == (), "with refresh, the stored index is not used"


def test_another_tokenizer_or_formula_has_an_index_of_its_own(make, ask) -> None:
    index, (question,) = make(["watering the fields", "the cat"]), ask("water")
    options_of_each = [{}, {"k1": 1}, {"stemmer": "none"}]
    if find_spec("icu4py"):
        options_of_each.append({"tokenizer": "auto"})
    for number, options in enumerate(options_of_each, start=1):
        (found,) = BM25(**options).search(again(index), [question])
        assert bool(found) == ("stemmer" not in options)
        assert len(list(index.folder.parent.iterdir())) == number
    BM25(top_k=1, query="water {question}").search(again(index), [question])
    assert len(list(index.folder.parent.iterdir())) == number, "what only the search depends on shares it"


@pytest.mark.parametrize("name", ["data.csc.index.npy", "vocab.index.json", "params.index.json", SEAL])
def test_a_damaged_index_is_built_again(make, ask, caplog, name: str) -> None:
    index, questions = make(TEXTS), ask("valve kestrel")
    built = BM25().search(index, questions)
    (folder,) = index.folder.parent.iterdir()
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    for said in (["cache-damaged"], []):  # it is stored again
        caplog.clear()
        assert BM25().search(again(index), questions) == built
        assert [record.message for record in caplog.records if record.name.startswith("fathoms")] == said


def test_a_stored_index_of_another_number_of_chunks_is_built_again(make, ask) -> None:
    index = make(TEXTS)
    BM25().search(index, ask("kestrel"))
    fewer = replace(again(index), chunks=index.chunks[1:2])
    assert [hit.chunk.id for hit in BM25().search(fewer, ask("kestrel"))[0]] == ["c1"]


def test_an_index_that_cannot_be_stored_is_told_of_and_used(make, ask, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    exceptions: list[Exception] = []
    index = replace(make(TEXTS), folder=tmp_path / "file" / "index", full=exceptions.append)
    assert len(BM25().search(index, ask("kestrel"))[0]) == 2
    assert [type(error) for error in exceptions] == [FileExistsError]


def test_without_its_package_a_search_names_the_extra(make, ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"fathoms\[bm25\]"):
        BM25().search(make(TEXTS), ask("kestrel"))


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
def test_the_index_that_is_built_block_by_block_is_that_of_bm25s(tmp_path: Path, method: str) -> None:
    """Each score of each word and text is the same to the last bit."""
    chance = random.Random(27)
    texts = [" ".join(chance.choices("abcdefghij", k=chance.randint(0, 30))) for _ in range(40)]
    retriever = BM25(method=method, k1=1.2, b=0.6)
    theirs = retriever._in_memory(texts)
    weighting = bm25_building.Weighting(method, 1.2, 0.6)
    reported: list[int] = []
    parts = [texts[at : at + 1] for at in range(40)]
    files = bm25_building.build(
        parts, retriever._split, weighting, tmp_path, reported.append, block=7, bucket=50
    )
    data, indices, starts = (np.load(path) for path in (files.data, files.indices, files.indptr))
    assert (reported[0], reported[-1], files.texts) == (7, 40, 40)
    assert len(data) > 4 * 50, "there are several buckets"
    assert set(files.words) == set(theirs.vocab_dict) - {""}
    for word, number in files.words.items():
        own = slice(starts[number], starts[number + 1])
        first, last = theirs.scores["indptr"][theirs.vocab_dict[word] :][:2]
        assert indices[own].tolist() == theirs.scores["indices"][first:last].tolist()
        assert data[own].tobytes() == theirs.scores["data"][first:last].tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "indices", "indptr.npy"]


def test_only_a_document_that_changed_is_split_again(tmp_path: Path) -> None:
    """Of 40 documents one has changed and one is new. What is known of the others gives the very files of a
    whole build, also for another formula, and not for another way to split."""
    chance = random.Random(27)
    texts = [[" ".join(chance.choices("abcdefghij", k=9)) for _ in range(at % 3)] for at in range(40)]
    later = [*texts[:7], ["a changed \ud83d document", "of two texts"], *texts[8:], ["new words"]]
    split_again: list[str] = []

    def built(parts: list[list[str]], name: str, known: bm25_building.Known | None = None, **options: object):
        retriever = BM25(**options)
        folder = tmp_path / name
        folder.mkdir()

        def split(rows):
            split_again.extend(rows)
            return retriever._split(rows)

        weighting = bm25_building.Weighting(retriever.method, retriever.k1, retriever.b)
        files = bm25_building.build(parts, split, weighting, folder, block=7, known=known)
        return files.words, {path.name: path.read_bytes() for path in folder.iterdir()}

    with closing(Cache(tmp_path / "cache")) as cache:
        known = bm25_building.KnownIn(cache, "english")
        assert built(texts, "first", known) == built(texts, "plain")
        split_again.clear()
        again = built(later, "again", known)
        assert split_again == [*later[7], "new words"]
        assert again == built(later, "whole")
        split_again.clear()
        assert built(later, "atire", known, method="atire") == built(later, "other", method="atire")
        assert len(split_again) == sum(map(len, later))  # by the build without what is known
        built(later, "unstemmed", bm25_building.KnownIn(cache, "none"), stemmer="none")
        assert len(split_again) == 2 * sum(map(len, later))


def test_an_index_is_deleted_when_its_documents_have_another(make, ask, tmp_path: Path) -> None:
    """That of the same documents before one of them changed; not that of others, and not for another
    formula."""
    with closing(Cache(tmp_path / "cache")) as cache:

        def stored(name: str, texts: list[str], lineage: str, **options: str) -> set[str]:
            index = make(texts)
            folder = tmp_path / "indexes" / name
            index = replace(index, folder=folder, lineage=lineage, replies=ReplyCache(cache))
            assert BM25(**options).search(index, ask("kestrel"))[0]
            return {path.name for path in folder.parent.iterdir() if path.is_dir()}

        first = stored("a", TEXTS, "these")
        other = stored("b", TEXTS, "others")
        atire = stored("a", TEXTS, "these", method="atire")
        changed = stored("c", [*TEXTS, "kestrel"], "these")
        assert (len(first), len(other), len(atire), len(changed)) == (1, 2, 3, 3)
        assert not first & changed
        assert atire - first < changed
        assert stored("c", [*TEXTS, "kestrel"], "these") == changed


def test_that_no_text_has_a_word_is_stored_too(make, ask, caplog) -> None:
    index, reported = make(["...", "?!"]), list[tuple[int, int]]()
    BM25().prepare(index, lambda *done: reported.append(done))
    assert reported == [(2, 2)]
    BM25().prepare(later := replace(index, built={}), lambda *done: reported.append(done))
    assert (reported, BM25().search(later, ask("weir")), caplog.text) == ([(2, 2)], [()], "")

"""Retrieval metrics: values worked out by hand, edges, and a random run against ir_measures itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import pytrec_eval

from fathoms.errors import UsageError
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.pooling import Pool
from fathoms.metrics.registry import named, sets
from fathoms.metrics.retrieval.batch import rank_scores
from fathoms.metrics.retrieval.layout import area
from fathoms.metrics.retrieval.levels import EVIDENCE, HITS
from fathoms.metrics.retrieval.metrics import HOPS, Hit, Ndcg, Recall, RetrievalMetric
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Box, Chunk, Evidence, Failure, PageBox, Question, Record, Score, Step
from fathoms.types import Hit as Found


def evidence(page: int | None, document: str = "a.pdf", **more) -> Evidence:
    return Evidence(document=document, page=page, **more)


def hit(rank: int, *pages: int, document: str = "a.pdf", boxes: tuple[Box, ...] = ()) -> Found:
    placed = tuple(PageBox(page=pages[0], bbox=box) for box in boxes)
    chunk = Chunk(id=f"{document}#{rank}", document=document, pages=pages, boxes=placed)
    return Found(chunk=chunk, score=1 / rank, rank=rank)


def record(gold: tuple[Evidence, ...], hits: tuple[Found, ...] | None, *, id: str = "q", **more) -> Record:
    wanted = {key: more.pop(key) for key in ("steps", "hops", "files", "category") if key in more}
    return Record(
        question=Question(**{"id": id, "text": "?", "category": "c", "evidence": gold, **wanted}),
        hits=hits,
        **more,
    )


def score(name: str | Metric, of: Record) -> Score:
    metric = named([name])[0] if isinstance(name, str) else name
    return metric.of(Facts(of, RecordScore()))


# Gold pages 2, 4 and 9. The ranked pages are 1, 2, 3, 4, 5: page 2 comes twice and counts once.
RANKED = (hit(1, 1), hit(2, 2), hit(3, 2), hit(4, 3), hit(5, 5, 4))
GOLD = (evidence(2), evidence(4), evidence(9))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hit@1", 0),
        ("hit@2", 1),
        ("recall@2", 1 / 3),
        ("recall@4", 2 / 3),
        ("precision@4", 2 / 4),
        ("precision@10", 2 / 10),  # five pages were retrieved; the missing ones count as wrong
        ("mrr@10", 1 / 2),
        ("mrr@2", 1 / 2),
        ("mrr@1", 0),
        ("ndcg@10", (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2)),
        ("ndcg@2", (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        ("map@10", (1 / 2 + 2 / 4) / 3),
        ("map@3", (1 / 2) / 3),
        ("r-precision", 1 / 3),
        ("document-recall@10", 1),
        ("document-r-precision", 1),
        ("chunk-precision@5", 3 / 5),
        ("chunk-mrr@10", 1 / 2),
        ("chunk-hit@1", 0),
    ],
)
def test_values_worked_out_by_hand(name, value):
    one_record = record(GOLD, RANKED)
    assert score(name, one_record).value == pytest.approx(value, abs=1e-12)
    assert score(name, one_record).value == pytest.approx(value, abs=1e-12), "a second call gives the same"


def test_edges():
    assert score("recall@10", record(GOLD, ())).value == 0, "a search without any result"
    assert score("recall@10", record((), RANKED)).why == {"lacks": "gold pages"}
    assert score("recall@10", record(GOLD, None)).why == {"lacks": "retrieved chunks"}
    failed = Failure(kind="RetrievalError", message="gone")
    assert score("recall@10", record(GOLD, (), error=failed)).why == {"lacks": "retrieved chunks"}
    assert score("recall@10", record(GOLD, RANKED, error=failed)).value == 2 / 3, "only the answer failed"
    only_file = record((evidence(None),), RANKED)
    assert score("recall@10", only_file).why == {"lacks": "gold pages"}
    assert score("document-recall@10", only_file).value == 1
    assert score("document-hit@1", record((), RANKED, files=("b.pdf",))).value == 0
    unknown = record(GOLD, (hit(1), hit(2)))
    assert score("recall@10", unknown).why == {"lacks": "pages of the retrieved chunks"}
    partly = score("mrr@10", record((evidence(2), evidence(None)), (hit(1), hit(2, 2))))
    assert (partly.value, partly.parts) == (1 / 2, {EVIDENCE: 1, HITS: 1})
    [searched] = rank_scores([Hit(k=5)], [record(GOLD, (), error=failed)], retrieval_only=True)
    assert searched["hit@5"].value == 0, "the search itself failed"
    [closed_book] = rank_scores([Hit(k=5)], [record(GOLD, ())], retrieves=False)
    assert closed_book["hit@5"].why == {"lacks": "retrieved chunks"}


def test_only_ndcg_depends_on_the_grades_of_gold_pages():
    """The gains 1, 0, 2 of the three hits are 1 / log2(2) + 2 / log2(4) = 2. The best order has the gains
    3, 2 and 1; the page with 3 was not found."""
    graded = [(1, 1), (1, 2), (2, None), (3, 3)]  # of two grades of a page, the higher one counts
    gold = tuple(evidence(page, relevance=grade) for page, grade in graded)
    found = record(gold, (hit(1, 2), hit(2, 9), hit(3, 1)))
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert score("ndcg@3", found).value == pytest.approx(2 / best, abs=1e-9)
    assert score("recall@3", found).value == pytest.approx(2 / 3)
    assert score("hit@1", found).value == 1
    plain = record(tuple(evidence(page) for page in (1, 2, 3)), found.hits)
    assert score("map@3", found).value == score("map@3", plain).value
    assert score("ndcg@3", plain).value == pytest.approx(1.5 / (1 + 1 / math.log2(3) + 1 / 2), abs=1e-9)


def test_the_gain_of_ndcg_is_linear_or_exponential_and_named():
    """Six ranked pages with the grades 3, 2, 3, 0, 1, 2, and two more gold pages with 3 and 2 that were not
    found. The article "Discounted cumulative gain" of Wikipedia works out the linear value: 6.861 / 8.740 =
    0.785. With 2^grade - 1, `gdeval.pl` of the Web Track of TREC prints 0.75108."""
    grades = dict(enumerate((3, 2, 3, 0, 1, 2, 3, 2), start=1))
    gold = tuple(evidence(page, relevance=grade) for page, grade in grades.items() if grade)
    found = record(gold, tuple(hit(rank, rank) for rank in range(1, 7)))
    linear, exponential = score("ndcg@6", found), score("ndcg@6-exp", found)
    assert linear.value == pytest.approx(0.785, abs=5e-4)
    assert exponential.value == pytest.approx(0.75108, abs=5e-6)
    assert (linear.metric, exponential.metric) == ("ndcg@6", "ndcg@6-exp")
    plain = record(GOLD, RANKED)
    assert score("ndcg@10-exp", plain).value == score("ndcg@10", plain).value, "the same without grades"
    assert named(["document-ndcg@3-exp"]) == (Ndcg(k=3, level="document", gain="exponential"),)


@pytest.mark.slow
def test_graded_ndcg_has_the_figures_of_pytrec_eval_as_mteb_calls_it_and_of_scikit_learn():
    """MTEB asks pytrec_eval for `ndcg_cut` of graded judgements. scikit-learn's `ndcg_score` takes the gains
    as they are given, so with 2^grade - 1 it is the exponential one."""
    from sklearn.metrics import ndcg_score

    drawn = random.Random(23)
    records, qrels, run = [], {}, {}
    for number in range(300):
        grades = {
            page: drawn.choice([1, 1, 2, 2, 3]) for page in drawn.sample(range(30), drawn.choice([1, 2, 9]))
        }
        pages = drawn.sample(range(30), 30)
        gold = tuple(evidence(page + 1, relevance=grade) for page, grade in grades.items())
        hits = tuple(hit(rank, page + 1) for rank, page in enumerate(pages, start=1))
        records.append(record(gold, hits, id=str(number)))
        qrels[str(number)] = {str(page): grade for page, grade in grades.items()}
        run[str(number)] = {str(page): -float(rank) for rank, page in enumerate(pages)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.5,10"}).evaluate(run)
    ours = [one for one in named(["ndcg@5", "ndcg@10", "ndcg@5-exp"]) if isinstance(one, RetrievalMetric)]
    for number, found in enumerate(rank_scores(ours, records)):
        assert found["ndcg@5"].value == pytest.approx(theirs[str(number)]["ndcg_cut_5"], abs=1e-6)
        assert found["ndcg@10"].value == pytest.approx(theirs[str(number)]["ndcg_cut_10"], abs=1e-6)
        gains = np.array([[2 ** qrels[str(number)].get(str(page), 0) - 1 for page in range(30)]])
        scores = np.array([[run[str(number)][str(page)] for page in range(30)]])
        assert found["ndcg@5-exp"].value == pytest.approx(ndcg_score(gains, scores, k=5), abs=1e-6)


def test_high_grades_have_an_exponential_gain_too():
    """The gain of the grade 5,000 does not fit into a float; the page with it stands at rank 2 of 2."""
    found = record((evidence(1), evidence(2, relevance=5000)), (hit(1, 1), hit(2, 2)))
    assert score("ndcg@5-exp", found).value == pytest.approx(1 / math.log2(3))


def test_a_hit_needs_a_gold_page_of_every_hop():
    gold = (evidence(2, step=1), evidence(3, step=1), evidence(7, step=2))
    one_record = record(gold, (hit(1, 3), hit(2, 1), hit(3, 7)), steps=(Step(), Step()))
    first, second = score("hit@2", one_record), score("hit@3", one_record)
    assert (first.value, first.parts) == (0, {"hop 1": 1, "hop 2": 0})
    assert (second.value, second.parts) == (1, {"hop 1": 1, "hop 2": 1})
    assert score("chunk-hit@3", one_record).value == 1
    assert score("recall@3", one_record).value == 2 / 3


def test_a_hop_without_gold_page_is_left_out_or_fails_by_policy():
    one_record = record((evidence(2, step=1), evidence(None, "b.pdf", step=2)), (hit(1, 2),), hops=2)
    skipped, failed = score("hit@5", one_record), score("hit@5-fail", one_record)
    assert (skipped.value, skipped.parts) == (1, {"hop 1": 1, "hop 2": None, HOPS: 1, EVIDENCE: 1})
    assert failed.value == 0
    for metric, policy in ((Hit(k=5), "left out"), (Hit(k=5, without_page="fail"), "count as missed")):
        counted = pooled(metric, [one_record])["counted"]
        assert [(policy in what, count) for what, count in counted.items() if HOPS in what] == [(True, 1)]
    together = record((evidence(2), evidence(7)), (hit(1, 2),), hops=2)
    assert (score("hit@5", together).value, list(pooled(Hit(k=5), [together])["counted"].values())) == (
        1,
        [1],
    )
    none = record((evidence(None, step=1), evidence(4)), (hit(1, 4),), hops=2)
    assert score("hit@5", none).value is None
    assert score("hit@5-fail", none).value == 0


def pooled(metric: Metric, records: list[Record]) -> dict:
    """Pool as a child process and its parent do."""
    pool, other = Pool(metric), Pool(metric)
    for one in records:
        pool.add(one.question, metric.of(Facts(one, RecordScore())))
    other.extend(pool.state(), [other._questions.number(one.question) for one in records])
    assert other.figures() == pool.figures()
    return pool.figures().plain()


def test_double_benchs_average_is_the_mean_of_the_questions_beside_the_mean_of_the_categories():
    hops = (evidence(1, step=1), evidence(2, step=2))
    records = [
        record((evidence(1),), (hit(1, 1),), id="1", category="single-hop"),
        record((evidence(1),), (hit(1, 1),), id="2", category="single-hop"),
        record((evidence(1),), (hit(1, 9),), id="3", category="single-hop"),
        record(hops, (hit(1, 1),), id="4", category="multi-hop"),
    ]
    figures = pooled(Hit(k=5), records)
    assert figures["micro"]["value"] == 2 / 4
    assert figures["overall"]["value"] == (2 / 3 + 0) / 2
    assert {name: part["value"] for name, part in figures["parts"].items()} == {"hop 1": 1, "hop 2": 0}
    assert {part["n"] for part in figures["parts"].values()} == {1}


def test_recall_by_modality():
    gold = (evidence(1, modality="text"), evidence(2, modality="image"), evidence(3, modality="image"))
    one_record = record(gold, (hit(1, 1), hit(2, 3)))
    found = score("recall@10", one_record)
    assert (found.value, found.parts) == (2 / 3, {"modality text": 1, "modality image": 1 / 2})
    assert score("recall@10-image", one_record).value == 1 / 2
    assert "modality 'table'" in str(score("recall@10-table", one_record).why["lacks"])


def test_hits_by_modality():
    """Text on page 1 is first, images on pages 2 and 3 are missed at 1 and found (page 3) at 2."""
    gold = (evidence(1, modality="text"), evidence(2, modality="image"), evidence(3, modality="image"))
    one_record = record(gold, (hit(1, 1), hit(2, 3)))
    assert score("hit@1", one_record).parts == {"modality text": 1, "modality image": 0}
    assert score("hit@2", one_record).parts == {"modality text": 1, "modality image": 1}
    hops = (evidence(1, modality="text", step=1), evidence(4, modality="image", step=2))
    found = score("hit@2", record(hops, (hit(1, 1), hit(2, 3))))
    assert (found.value, found.parts) == (
        0,
        {"hop 1": 1, "hop 2": 0, "modality text": 1, "modality image": 0},
    )


def test_layout_recall_is_the_area_that_the_union_of_boxes_covers():
    gold = (evidence(1, bbox=(0, 0, 10, 10)), evidence(2, bbox=(0, 0, 10, 10)))
    half, same = hit(1, 1, boxes=((0, 0, 10, 5),)), hit(2, 1, boxes=((0, 0, 10, 5), (50, 50, 60, 60)))
    rest, elsewhere = hit(3, 1, boxes=((0, 4, 20, 20),)), hit(4, 3, boxes=((0, 0, 10, 10),))
    one_record = record(gold, (half, same, rest, elsewhere))
    assert score("layout-recall@1", one_record).value == 50 / 200
    assert score("layout-recall@2", one_record).value == 50 / 200, "an overlap counts once"
    assert score("layout-recall@10", one_record).value == 100 / 200
    # the released code adds up 50, 50 and 60, and could exceed 1
    assert score("layout-recall@2-released", one_record).value == 100 / 200
    assert score("layout-recall@10-released", one_record).value == 160 / 200
    assert score("layout-recall@9-released", record(gold[:1], (half, same, rest))).value == 160 / 100
    # the first box is found by half; the chunks after it on that box take no place; then a wrong chunk
    assert score("layout-hit@1", one_record).value == 1
    assert score("layout-precision@2", one_record).value == 1 / 2
    assert score("layout-map@10", one_record).value == 1 / 2
    other = hit(3, 2, boxes=((0, 0, 10, 6),))
    assert score("layout-precision@2", record(gold, (half, same, other))).value == 1
    assert score("layout-hit@5", record(gold, (hit(1, 1),))).why == {"lacks": "boxes of the retrieved chunks"}
    assert score("layout-hit@5", record(GOLD, RANKED)).why == {"lacks": "gold boxes"}
    assert area([(0, 0, 2, 2), (1, 1, 3, 3), (5, 5, 4, 9)]) == 7


def test_names_become_metrics_and_metrics_have_names():
    names = [
        *sets()["retrieval"],
        *("document-recall@10", "layout-hit@5", "chunk-precision@5", "r-precision", "page-hit@2", "map"),
        *("recall@10-table", "hit@5-fail", "document-r-precision"),
    ]
    result = [metric.name for metric in named(names)]
    assert result == [{"page-hit@2": "hit@2", "map": "map@10"}.get(name, name) for name in names]
    assert named(["retrieval"]) == named(sets()["retrieval"])
    assert named(["document-recall@10"]) == (Recall(k=10, level="document"),)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chunk-recall@10", "how many chunks of the whole index cover a gold page is not known"),
        ("chunk-ndcg@10", "there is no ndcg of chunks"),
        ("hit@0", "there is no metric 'hit@0' .did you mean 'hit@"),
        ("mrr@10-fail", "there is no metric 'mrr@10-fail'"),
        ("map@10-exp", "there is no metric 'map@10-exp'"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_reason(name, message):
    with pytest.raises(UsageError, match=message):
        named([name])


@pytest.mark.slow
def test_a_random_run_of_2000_questions_has_the_figures_of_ir_measures():
    import ir_measures  # which imports pandas

    drawn = random.Random(7)
    records, qrels, run = [], {}, {}
    for number in range(2000):
        gold = drawn.sample(range(1, 40), drawn.choice([1, 1, 2, 3, 8]))
        pages = drawn.sample(range(1, 40), drawn.choice([0, 1, 3, 10, 30]))
        hits = [hit(rank, page) for rank, page in enumerate(pages, start=1)]
        records.append(record(tuple(map(evidence, gold)), tuple(hits), id=str(number)))
        qrels[str(number)] = {str(page): 1 for page in gold}
        run[str(number)] = {str(page): 1 / rank for rank, page in enumerate(pages, start=1)}
    theirs = {
        "hit@5": ir_measures.Success @ 5,
        "recall@10": ir_measures.R @ 10,
        "precision@3": ir_measures.P @ 3,
        "mrr@10": ir_measures.RR @ 10,
        "ndcg@10": ir_measures.nDCG @ 10,
        "map@20": ir_measures.AP @ 20,
        "r-precision": ir_measures.Rprec,
    }
    ours = [one for one in named(list(theirs)) if isinstance(one, RetrievalMetric)]
    scores = rank_scores(ours, records)
    expected = {
        (one.measure, one.query_id): one.value
        for one in ir_measures.iter_calc([*theirs.values()], qrels, run)
    }
    assert len(expected) == 7 * 2000
    for number, found in enumerate(scores):
        for name, measure in theirs.items():
            assert abs((found[name].value or 0) - expected[measure, str(number)]) < 1e-9, (name, number)


@pytest.mark.parametrize("name", ["hit@5", "recall@5", "document-recall@5", "chunk-precision@5", "mrr@5"])
def test_a_hit_without_a_document_leaves_the_ranking_unknown(name: str) -> None:
    one_record = record((evidence(1),), (hit(1, 1, document="b.pdf"), hit(2, document="")))
    (metric,) = named([name])
    score = metric.score(Facts(one_record, RecordScore()))
    assert (score.value, score.why["lacks"]) == (None, "documents of the retrieved chunks")

"""Work on this machine: chunks made in child processes are those made here, and an error ends all work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from fathoms.errors import ConfigError
from fathoms.executors import LocalExecutor, OnPage, Ready, Work
from fathoms.ingest import DoclingHybridChunker, PageChunker, SentenceChunker
from fathoms.ingest.workers.chunking import ChunkWork
from fathoms.safety.children import Children
from fathoms.types import Document, DocumentFacts, Page

WORDS = "The gauge at Marlow Weir read two metres. It fell in the night. Nobody had opened a gate.\n"


def document(name: str, pages: int) -> Document:
    text = [Page(number=n, text=f"{name} {n}. " + WORDS * (3 * n)) for n in range(1, pages + 1)]
    return Document(id=name, path=Path(name), sha256=name, pages=tuple(text))


def same(item: Document | DocumentFacts) -> Document:
    assert isinstance(item, Document)
    return item


DOCUMENTS = [document(f"{name}.pdf", pages) for name, pages in (("a", 4), ("b", 1), ("c", 6), ("d", 2))]


@pytest.mark.slow  # two processes load a tokenizer
def test_chunks_made_in_child_processes_are_those_made_here() -> None:
    chunker = SentenceChunker(size=64, overlap=16, header="{document} {page}")
    done: list[int] = []
    work = ChunkWork(chunker, same, pages_each=5)
    assert work.most(DOCUMENTS) == 2
    result = LocalExecutor(2).run(work, DOCUMENTS, lambda at, outcome, seconds: done.append(at))
    assert result == [chunker.chunk(each) for each in DOCUMENTS]
    assert sum(map(len, result)) > len(DOCUMENTS)
    assert sorted(done) == [0, 1, 2, 3]


@pytest.mark.slow  # two processes
def test_an_error_of_a_chunker_in_a_child_process_is_raised_here() -> None:
    work = ChunkWork(DoclingHybridChunker(), same, pages_each=5)
    with pytest.raises(ConfigError, match="kind 'docling-hybrid' needs ingest"):
        LocalExecutor(2).run(work, DOCUMENTS)


def test_few_pages_and_whole_pages_are_chunked_in_this_process() -> None:
    assert ChunkWork(SentenceChunker(), same).most(DOCUMENTS) == 0
    assert ChunkWork(SentenceChunker(), same, pages_each=7).most(DOCUMENTS) == 0  # one process pays nothing
    work = ChunkWork(PageChunker(), same)
    assert work.most(DOCUMENTS) == 0
    assert LocalExecutor(2).run(work, DOCUMENTS) == [PageChunker().chunk(each) for each in DOCUMENTS]


class Doubling(Work[int, int]):
    """Doubles numbers at once, and knows how many outcomes nobody has taken yet."""

    def __init__(self) -> None:
        self.begun = self.most_waiting = 0
        self.taken = 0

    def open(self, children: Children, workers: int) -> Doubling:
        return self

    def do(self, item: int, on_page: OnPage) -> Callable[[], int]:
        self.begun += 1
        self.most_waiting = max(self.most_waiting, self.begun - self.taken)
        on_page(1, 2)
        on_page(2, 2)
        return lambda: 2 * item

    def close(self) -> None: ...


def test_few_outcomes_wait_for_who_takes_them_slowly_and_none_are_kept_unless_asked_for() -> None:
    work, taken, pages = Doubling(), dict[int, int](), list[tuple[int, int]]()

    def done(at: int, outcome: int, seconds: float) -> None:
        sleep(0.002)  # the work itself takes no time
        taken[at] = outcome
        work.taken += 1

    items = range(100)
    assert LocalExecutor(2).run(work, items, done, lambda *reported: pages.append(reported), keep=False) == []
    assert taken == {at: 2 * at for at in items}
    assert work.most_waiting <= 8, "four for each worker"
    assert pages[-1] == (200, 200)
    assert LocalExecutor(2).run(Doubling(), items) == [2 * at for at in items]


class Waiting(Doubling):
    """Waits with the number 3 until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = Event()

    def do(self, item: int, on_page: OnPage) -> Callable[[], int]:
        assert item != 3 or self.go_on.wait(20)
        return Ready(2 * item)


def test_a_pause_is_told_while_the_next_outcome_is_waited_for() -> None:
    work, reported = Waiting(), list[object]()

    def pause() -> None:
        reported.append("pause")
        work.go_on.set()

    def done(at: int, outcome: int, seconds: float) -> None:
        reported.append(outcome)

    assert LocalExecutor(1).run(work, range(5), done, on_pause=pause) == [0, 2, 4, 6, 8]
    assert reported.index("pause") == reported.index(6) - 1 == 3

"""Runs on threads: results as they come, errors in the items' order, an end that does not wait for long runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from penstock.runs.pool import Pool, Stopped, Watch, in_order


def test_results_are_in_the_items_order_whatever_takes_longer() -> None:
    def work(item: int, _watch: Watch) -> int:
        time.sleep(0.02 if item % 2 else 0.0)
        return item * item

    assert in_order(work, range(9), jobs=3) == [i * i for i in range(9)]


def test_an_item_may_have_many_results_or_none() -> None:
    def work(item: int, _watch: Watch) -> Iterator[int]:
        yield from [item] * item

    with closing(Pool(work, 2).results(range(4))) as results:
        assert sorted(each for each in results if each is not None) == [1, 2, 2, 3, 3, 3]


def test_the_first_item_that_fails_is_the_one_that_is_raised() -> None:
    later = threading.Event()

    def work(item: int, watch: Watch) -> int:
        if item == 2:
            later.set()
            raise ValueError("two")
        if item == 1:
            later.wait(5)
            for _ in range(10):  # goes on: it comes before the one that has failed
                watch(0.0, 0, 1)
            raise ValueError("one")
        return item

    with pytest.raises(ValueError, match="one"):
        in_order(work, range(4), jobs=4)


def test_what_comes_after_a_failure_is_ended_and_nothing_new_begins() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(item: int, watch: Watch) -> int:
        begun.append(item)
        if item == 0:
            raise ValueError("none")
        try:
            while True:
                watch(0.0, 0, 1)
                time.sleep(0.001)
        except Stopped:
            ended.append(item)
            raise

    with pytest.raises(ValueError, match="none"):
        in_order(work, range(100), jobs=2)
    assert ended == [item for item in begun if item > 0]
    assert len(begun) <= 4


def test_closing_ends_the_runs_under_way() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(item: int, watch: Watch) -> Iterator[int]:
        begun.append(item)
        yield item
        try:
            while True:
                watch(0.0, 0, 1)
                time.sleep(0.001)
        except Stopped:
            ended.append(item)
            raise

    with closing(Pool(work, 2).results(range(5))) as results:
        assert next(results) in (0, 1)
    assert sorted(ended) == sorted(begun)
    assert len(begun) <= 2


def test_items_are_taken_as_there_is_room() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(1000):
            taken.append(i)
            yield i

    pool: Pool[int, int] = Pool(lambda item, _watch: [item], 2)
    with closing(pool.results(items())) as results:
        next(results)
        assert len(taken) <= 5

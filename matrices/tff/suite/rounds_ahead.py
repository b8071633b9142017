"""Prepare the data of the next K rounds while the present one trains.

Copy this file; it needs the standard library alone. In a plain loop, where `read` is any function of a round's number:

    with RoundsAhead(read, range(100), ahead=3) as rounds:
        for data in rounds:
            state = process.next(state, data)

Inside one of the runtime's asynchronous contexts (0.21 and later), where `read` is a coroutine function that may await
computations, so that the runtime itself works on K rounds beside the one that trains:

    async with AsyncRoundsAhead(read, range(100), ahead=3) as rounds:
        async for data in rounds:
            state = await process.next(state, data)

Both keep the order of the rounds, have at most K of them prepared or under way beyond the one given out, raise what
`read` or the iterable of numbers raised for a round when that round's turn comes, after all rounds before it, and leave
no thread or task behind when the block ends.
With `ahead=0` nothing is prepared before it is asked for.
"""

import asyncio
import collections
import concurrent.futures


class RoundsAhead:
    """Iterates over `prepare(number)` for each number, prepared ahead in threads.

    One thread calls `prepare` in the order of the rounds, so it may read from a stream; with more `threads` the calls
    overlap. The execution context of a TFF program belongs to its thread: `prepare` must not run computations unless
    it installs a context of its own.
    """

    def __init__(self, prepare, numbers, ahead, threads=1):
        """Start to prepare the first rounds; `numbers` is any iterable."""
        if ahead < 0 or threads < 1:
            raise ValueError("ahead must be 0 or more, and threads 1 or more")
        self._prepare = prepare
        self._numbers = iter(numbers)
        self._ahead = ahead
        self._under_way = collections.deque()
        self._pool = concurrent.futures.ThreadPoolExecutor(threads) if ahead else None
        self._start()

    def __enter__(self):
        """Return the iterator itself."""
        return self

    def __exit__(self, *exception):
        """Close."""
        self.close()

    def __iter__(self):
        """Return the iterator itself."""
        return self

    def __next__(self):
        """Return the data of the next round, or raise what its preparation raised; then the iterator is closed."""
        try:
            if not self._ahead:
                return self._prepare(next(self._numbers))
            if not self._under_way:
                raise StopIteration
            data = self._under_way.popleft().result()
            self._start()
        except BaseException:
            self.close()
            raise
        return data

    def close(self):
        """Drop what was prepared, wait for the rounds that a thread is busy with, and end the threads."""
        self._numbers = iter(())
        while self._under_way:
            self._under_way.pop().cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _start(self):
        while len(self._under_way) < self._ahead:
            try:
                number = next(self._numbers)
            except StopIteration:
                return
            except Exception as error:  # it is that round's, so the rounds before it come first
                self._numbers = iter(())
                failed = concurrent.futures.Future()
                failed.set_exception(error)
                self._under_way.append(failed)
            else:
                self._under_way.append(self._pool.submit(self._prepare, number))


class AsyncRoundsAhead:
    """Iterates over what the coroutines `prepare(number)` return, all of them under way in one event loop."""

    def __init__(self, prepare, numbers, ahead):
        """Take a coroutine function and any iterable of numbers; nothing starts before the block is entered."""
        if ahead < 0:
            raise ValueError("ahead must be 0 or more")
        self._prepare = prepare
        self._numbers = iter(numbers)
        self._ahead = ahead
        self._under_way = collections.deque()

    async def __aenter__(self):
        """Start to prepare the first rounds."""
        self._start(self._ahead)
        return self

    async def __aexit__(self, *exception):
        """Close."""
        await self.close()

    def __aiter__(self):
        """Return the iterator itself."""
        return self

    async def __anext__(self):
        """Return the data of the next round, or raise what its preparation raised; then the iterator is closed."""
        self._start(1)
        if not self._under_way:
            raise StopAsyncIteration
        task = self._under_way[0]
        try:
            data = await task
            self._under_way.popleft()
            self._start(self._ahead)
        except BaseException:
            await self.close()
            raise
        return data

    async def close(self):
        """Cancel the rounds that are under way, and wait until none is left."""
        self._numbers = iter(())
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._under_way.clear()

    def _start(self, wanted):
        while len(self._under_way) < wanted:
            try:
                number = next(self._numbers)
            except StopIteration:
                return
            except Exception as error:  # it is that round's, so the rounds before it come first
                self._numbers = iter(())
                self._under_way.append(asyncio.ensure_future(_failing(error)))
            else:
                self._under_way.append(asyncio.ensure_future(self._prepared(number)))

    async def _prepared(self, number):
        return await self._prepare(number)  # called here, so that all it raises is the round's


async def _failing(error):
    raise error

"""A worker of pgqueuer, as `pgq run` starts it: pgqueuer_worker.py BATCH_SIZE MAX_CONCURRENT_TASKS."""

import asyncio
import contextlib
import json
import sys

import asyncpg
import pgqueuer
from pgqueuer.db import AsyncpgPoolDriver
from push import push as send


@contextlib.asynccontextmanager
async def factory():
    async with asyncpg.create_pool(min_size=4, max_size=4) as pool:
        queue = pgqueuer.PgQueuer(AsyncpgPoolDriver(pool))

        @queue.entrypoint("push")
        async def push(job):
            await send(**json.loads(job.payload))

        yield queue


batch_size, most = map(int, sys.argv[1:])
asyncio.run(pgqueuer.run(factory, batch_size=batch_size, max_concurrent_tasks=most))

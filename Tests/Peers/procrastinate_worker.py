"""The task of procrastinate, and its documentation's recipe for the jobs of killed workers, here each five seconds and not each ten
minutes: `procrastinate --app procrastinate_worker.app worker`."""

from procrastinate import App, PsycopgConnector
from push import push as send

app = App(connector=PsycopgConnector(min_size=8, max_size=8))


@app.task(name="push", queue="pushes")
async def push(tokens, payload):
    await send(tokens, payload)


@app.periodic(cron="* * * * * */5")
@app.task(queueing_lock="retry_stalled_jobs", pass_context=True)
async def retry_stalled_jobs(context, timestamp):
    for job in await app.job_manager.get_stalled_jobs():
        await app.job_manager.retry_job(job)

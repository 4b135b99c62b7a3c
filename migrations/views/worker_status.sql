-- The only place that says whether a worker is alive, asleep, silent or stuck. Whatever times its row has, the view can be read.
CREATE OR REPLACE VIEW carillon.worker_status AS
SELECT w.id, w.name, w.host, w.pid, w.version, w.started_at, w.heartbeat_at, w.lease_until, w.connections, w.beat,
    CASE
        -- Heartbeats are a fifth of the lease apart, so after half of it two are missing. One in the future does not count: the
        -- clock was set back, and a live worker would have sent another by now.
        WHEN known.heartbeat_at NOT BETWEEN now() - known.lease / 2 AND now() + known.lease THEN 'silent'
        -- A worker with claims states by when it will settle. One that states none releases any that are left within two leases.
        WHEN w.settles_by < now() OR w.settles_by IS NULL AND claimed.oldest < now() - interval '2 minutes' - known.lease * 2
            THEN 'stuck'
        WHEN w.asleep_since IS NOT NULL THEN 'asleep'
        ELSE 'alive' END AS state,
    known.lease,
    now() - known.heartbeat_at AS silence,
    now() - known.started_at AS age,
    coalesce(claimed.claims, 0) AS claims,
    w.asleep_since
FROM carillon.workers w
CROSS JOIN LATERAL (
    SELECT least(greatest(w.started_at, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS started_at,
        least(greatest(w.heartbeat_at, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS heartbeat_at,
        least(greatest(w.lease_until, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS lease_until
) bounded
CROSS JOIN LATERAL (
    -- A lease is at most ten minutes.
    SELECT bounded.started_at, bounded.heartbeat_at,
        least(greatest(bounded.lease_until - bounded.heartbeat_at, interval '0'), interval '10 minutes') AS lease
) known
LEFT JOIN (
    SELECT i.worker_id, count(*) AS claims, min(i.claimed_at) AS oldest FROM carillon.inflight i GROUP BY i.worker_id
) claimed ON claimed.worker_id = w.id;
COMMENT ON VIEW carillon.worker_status IS 'The state of each worker that runs, or that died and was not taken over yet.';
COMMENT ON COLUMN carillon.worker_status.id IS 'the id of this run';
COMMENT ON COLUMN carillon.worker_status.name IS 'the name of the worker, for people';
COMMENT ON COLUMN carillon.worker_status.host IS 'the host that the worker runs on';
COMMENT ON COLUMN carillon.worker_status.pid IS 'the process id of the worker';
COMMENT ON COLUMN carillon.worker_status.version IS 'the version of the program';
COMMENT ON COLUMN carillon.worker_status.started_at IS 'when it started';
COMMENT ON COLUMN carillon.worker_status.heartbeat_at IS 'the time of its last heartbeat';
COMMENT ON COLUMN carillon.worker_status.lease_until IS 'when its lease ends unless another heartbeat extends it';
COMMENT ON COLUMN carillon.worker_status.connections IS
    'the number of connections to gateways that its program had at its last heartbeat';
COMMENT ON COLUMN carillon.worker_status.beat IS 'Internal: the number of its heartbeats';
COMMENT ON COLUMN carillon.worker_status.state IS
    'alive; asleep while there is nothing to do; silent if two heartbeats are missing; stuck if it has claims and settles none';
COMMENT ON COLUMN carillon.worker_status.lease IS 'its lease; heartbeats are a fifth of it apart';
COMMENT ON COLUMN carillon.worker_status.silence IS 'how long ago its last heartbeat was';
COMMENT ON COLUMN carillon.worker_status.age IS 'how long it has run';
COMMENT ON COLUMN carillon.worker_status.claims IS 'the number of claims that it has';
COMMENT ON COLUMN carillon.worker_status.asleep_since IS 'since when it has slept; null if it is awake';

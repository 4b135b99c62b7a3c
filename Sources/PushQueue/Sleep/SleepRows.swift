import CarillonPostgres

/// What `carillon.fall_asleep` returns.
struct SleepRows: Sendable {
    /// The server lets every transaction notify.
    var maySleep = true
    /// False: this worker was declared dead. Nil: nothing was written.
    var isAlive: Bool?
    /// There is something to do, so the worker must not sleep.
    var hasWork = false
    /// When the next thing is due, if that is within a day.
    var dueIn: Duration?
    /// Open transactions that may bring work but will not notify; nil while another worker is awake.
    var holders: [String]? = []
    /// Another worker is awake, so transactions do not notify.
    var othersAreAwake = false
    /// The heartbeats of the other workers.
    var others: [HeartbeatState.Sighting] = []
}

extension SleepRows {
    init(_ rows: borrowing Rows) throws(PostgresError) {
        maySleep = try rows.bool(0, "may_sleep")
        isAlive = try rows.isNull(0, "alive") ? nil : rows.bool(0, "alive")
        hasWork = try !rows.isNull(0, "work")
        dueIn = try rows.int64IfPresent(0, "due_in").map { .microseconds($0) }
        othersAreAwake = try rows.bool(0, "others_awake")
        holders = othersAreAwake ? nil : try rows.strings(0, "holders").compactMap { $0 }
        guard isAlive == true else { return }
        let workers = try rows.int64s(0, "others")
        let beats = try rows.int64s(0, "beats")
        let leases = try rows.int64s(0, "leases")
        for index in workers.indices {
            guard index < min(beats.count, leases.count), let worker = workers[index], let beat = beats[index],
                let lease = leases[index]
            else { throw PostgresError(.unexpectedValue, "a worker has no heartbeat") }
            others.append(HeartbeatState.Sighting(worker: worker, beat: beat, lease: .microseconds(lease)))
        }
    }
}

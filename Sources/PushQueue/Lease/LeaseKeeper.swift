import CarillonIO
import CarillonPostgres
import CarillonSchema

/// Renews this worker's lease, watches the other workers, and takes over the claims of dead ones.
final class LeaseKeeper {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let madeAt = MonotonicInstant.now
    /// Dead workers that a sleeper has seen.
    private var seenDead: [HeartbeatState.Sighting] = []
    private let deadBell = Bell()

    init(_ context: WorkerContext, _ database: WorkerDatabase) {
        self.context = context
        self.database = database
    }

    // MARK: This worker

    func begin(on lifeline: PostgresConnection) async throws(PostgresError) {
        let installation = try await database.ask(lifeline, LeaseStatements.installation) { rows in
            guard !rows.isEmpty else {
                throw PostgresError(
                    .unexpectedValue,
                    "carillon.installation is empty",
                    hint:
                        "as the owner of the schema, run INSERT INTO carillon.installation DEFAULT VALUES in psql, and then: "
                        + "carillon adopt"
                )
            }
            return try rows.uuid(0, 0)
        }
        context.event { $0.lease.began(in: installation) }
        try await register(on: lifeline)
    }

    private func register(on lifeline: PostgresConnection) async throws(PostgresError) {
        let askedAt = MonotonicInstant.now
        let parameters = LeaseStatements.parameters(registering: context.options, age: askedAt - madeAt)
        let id = try await database.ask(lifeline, LeaseStatements.register, parameters) { try $0.int64(0, "id") }
        context.event { $0.lease.registered(as: id, askedAt: askedAt) }
        let end = context.state.lease.end
        context.count { $0.leaseEnd = end }
    }

    /// Renews the lease, on a connection of its own.
    func keepLease() async {
        while await context.sleep(for: context.state.heartbeatWait(at: .now)) {
            guard context.state.sleep.isAwake else { continue }
            guard let lifeline = await database.nextLifeline() else { return }
            do throws(PostgresError) {
                try await renewLease(by: LeaseStatements.heartbeat, on: lifeline)
                context.event { $0.succeeded(in: .heartbeat) }
            } catch {
                guard !Task.isCancelled else { return }
                database.failed(error, on: lifeline)
                await context.sleep(for: context.event { $0.failed(in: .heartbeat) })
            }
        }
    }

    func renewLease(by statement: Statement, on connection: PostgresConnection) async throws(PostgresError) {
        let worker = context.state.lease.id
        let askedAt = MonotonicInstant.now
        let parameters = LeaseStatements.parameters(
            renewing: worker,
            for: context.options.lease,
            noting: context.meter.recentTraffic(),
            settlingWithin: context.state.settlingWait(at: askedAt)
        )
        let known = context.state.wal.last
        let (alive, sighting) = try await database.ask(connection, statement, parameters) { rows in
            (try rows.int64IfPresent(0, "workers"), try InstallationSighting(rows))
        }
        try await database.saw(sighting, since: known)
        let workersAlive = alive.map { Int($0) }
        if context.event({ $0.heartbeatReturned(workersAlive, of: worker, askedAt: askedAt) }) {
            defer { context.event { $0.lease.registeringEnded() } }
            try await register(on: connection)
            context.log(.leaseLost(worker: context.state.lease.id))
        }
        if let end = context.state.lease.end { context.count { $0.leaseEnd = end } }
        // While the lease was lost, nothing was claimed.
        context.dispatchBell.ring()
    }

    /// Returns whether the worker's row is gone, and it has no claims.
    func signOff(on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await releaseStrays(on: connection)
        let worker = Parameters(context.state.lease.id)
        return try await database.ask(connection, LeaseStatements.signOff, worker) { try $0.bool(0, 0) }
    }

    // MARK: The others

    func keepWatch() async {
        repeat {
            // A sleeper sees the others in its slow looks.
            if context.state.sleep.isAwake { await watchOthers() }
        } while await context.sleep(for: context.event { $0.lease.watchWait(at: .now) })
    }

    func watchOthers() async {
        guard let lifeline = database.lifeline else { return }
        var dead: [HeartbeatState.Sighting] = []
        do throws(PostgresError) {
            let worker = Parameters(context.state.lease.id)
            let others = try await database.ask(lifeline, LeaseStatements.heartbeats, worker) { rows in
                try rows.indices.map { try HeartbeatState.Sighting(rows, $0) }
            }
            context.event { $0.succeeded(in: .watch) }
            dead = context.event { $0.lease.saw(others, at: .now) }
        } catch {
            guard !Task.isCancelled else { return }
            database.failed(error, on: lifeline)
            await context.sleep(for: context.event { $0.failed(in: .watch) })
            return
        }
        await takeOver(from: dead)
    }

    /// Takes over from dead workers that a sleeper has seen, while its looks go on.
    func keepTakingOver() async {
        for await _ in deadBell.rings {
            await takeOver(from: seenDead)
            seenDead = []
        }
    }

    /// What is seen during a takeover is seen again.
    func sawDead(_ dead: [HeartbeatState.Sighting]) {
        guard !dead.isEmpty, seenDead.isEmpty else { return }
        seenDead = dead
        deadBell.ring()
    }

    private func takeOver(from dead: [HeartbeatState.Sighting]) async {
        for worker in dead {
            guard let error = await takeOver(from: worker) else { continue }
            guard context.event({ $0.refusals.mayTryNext(after: error, at: .now) }) else { return }
        }
    }

    func takeOverOrphans() async {
        guard let connection = await database.connection() else { return }
        do throws(PostgresError) {
            if try await hasOrphans(connection) { await takeOver(from: nil) }
        } catch {
            database.failed(error, on: connection)
        }
    }

    /// Whether there are claims of workers without a row.
    func hasOrphans(_ connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await database.ask(connection, LeaseStatements.hasOrphans) { try $0.bool(0, 0) }
    }

    /// Returns why it failed.
    @discardableResult
    private func takeOver(from dead: HeartbeatState.Sighting?) async -> PostgresError? {
        var isGone = false
        let fault = await database.withOwnConnection(for: .takeOver) { connection throws(PostgresError) in
            isGone = try await takeOver(from: dead, on: connection)
        }
        if let dead, !isGone { context.event { $0.lease.couldNotTakeOver(dead.worker, at: .now) } }
        return fault
    }

    /// - Parameter dead: If nil, only claims of workers without a row are taken over.
    /// - Returns: Whether the claims of the dead worker were taken over.
    @discardableResult
    func takeOver(
        from dead: HeartbeatState.Sighting?,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Bool {
        let parameters = LeaseStatements.parameters(takingOverFrom: dead)
        let (workers, claims, jobs) = try await database.ask(connection, LeaseStatements.takeOver, parameters) {
            rows in
            (try rows.int64(0, "workers"), try rows.int64(0, "claims"), try rows.int64(0, "jobs"))
        }
        guard workers > 0 || claims > 0 else { return false }
        context.event { $0.schedule.forgetFloors() }
        context.log(.tookOver(workers: workers, claims: claims, jobs: jobs))
        context.dispatchBell.ring()
        return workers > 0
    }

    // MARK: Stray claims

    /// The worker is about to use this connection.
    func reconnected(on connection: PostgresConnection) async throws(PostgresError) {
        do throws(PostgresError) {
            try await releaseStrays(on: connection)
        } catch {
            // Strays that cannot be released now are found again.
            guard error.code == .server else { throw error }
            database.logError(error)
        }
    }

    /// Releases all strays, while no claim is under way. They are released by their keys: a statement whose
    /// connection is lost may run late, after this worker has made other claims.
    private func releaseStrays(on connection: PostgresConnection) async throws(PostgresError) {
        let strays = try await strays(on: connection)
        guard !strays.isEmpty else { return }
        let parameters = ClaimKey.parameters(releasing: strays, of: context.state.lease.id)
        try await connection.execute(ClaimKey.release, parameters)
    }

    /// Claims of this worker that it does not know.
    private func strays(on connection: PostgresConnection) async throws(PostgresError) -> [ClaimKey] {
        let known = context.state.schedule.knownClaims
        let parameters = ClaimKey.parameters(straysOf: context.state.lease.id, butFor: known)
        return try await database.ask(connection, ClaimKey.strays, parameters) { try $0.records() }
    }

    /// Returns whether some are past the grace period.
    func findStrays(on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        let strays = try await strays(on: connection)
        context.event { $0.lease.foundStrays(strays, at: .now) }
        return !context.state.lease.agedStrays.isEmpty
    }

    func releaseAgedStrays(on connection: PostgresConnection) async throws(PostgresError) {
        for claim in context.event({ $0.lease.straysToRelease() }) {
            do throws(PostgresError) {
                let parameters = ClaimKey.parameters(releasing: [claim], of: context.state.lease.id)
                try await connection.execute(ClaimKey.release, parameters)
            } catch {
                guard error.code == .server else { throw error }
                database.logError(error)
                guard context.event({ $0.refusals.mayTryNext(after: error, at: .now) }) else { return }
            }
        }
    }
}

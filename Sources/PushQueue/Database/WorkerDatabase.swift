import CarillonIO
import CarillonPostgres

/// The connections of a worker to PostgreSQL.
///
/// All work shares one pipelined connection. Heartbeats have their own, the lifeline, so they wait behind no other statement.
/// So does work that may take long or wait for a lock, because claims and settlements must not wait behind it: each piece opens
/// a connection for itself.
final class WorkerDatabase {
    /// A statement that waited for a lock in vain, for the log.
    private struct LockTimeout {
        let error: PostgresError
        /// How many more were not logged.
        let suppressed: Int
    }

    /// The lock timeout of the shared connection: a holder has had its lock at least this long.
    private static let shortestLock = Duration.milliseconds(100)

    let context: WorkerContext
    private(set) var shared: PostgresConnection?
    private(set) var lifeline: PostgresConnection?
    /// Will be in use once it has been prepared.
    private(set) var coming: PostgresConnection?
    private(set) var hasBegun = false
    /// How often a server was left because it did not answer.
    private var departures = 0
    private var purposes: Set<Purpose> = []
    private var own: [Purpose: PostgresConnection] = [:]
    /// Tasks that wait for the shared connection.
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Locks that statements met, to be logged with their holders.
    private var lockTimeouts = Fifo<LockTimeout>()
    private let lossBell = Bell()
    private let lifelineBell = Bell()
    private let lockBell = Bell()

    init(_ context: WorkerContext) { self.context = context }

    // MARK: Connecting

    /// Opens both connections. Tries again only if a server stops answering and there are others.
    /// - Parameters:
    ///   - register: Done on the lifeline.
    ///   - prepare: Done next, on the shared connection before it is used.
    func begin(
        _ register: (PostgresConnection) async throws -> Void,
        preparing prepare: (PostgresConnection) async -> Void
    ) async throws {
        var others = context.options.database.hostCount - 1
        while true {
            let departures = self.departures
            do {
                let connection = try await connectBoth()
                guard let lifeline else { throw PostgresError.unanswered(by: connection.server, for: silenceLimit) }
                try await register(lifeline)
                hasBegun = true
                await prepare(connection)
                return use(connection)
            } catch {
                await lifeline?.close()
                await coming?.close()
                (lifeline, coming) = (nil, nil)
                guard self.departures > departures, others > 0 else { throw error }
                others -= 1
            }
        }
    }

    /// Opens the lifeline, and returns what will be the shared connection.
    private func connectBoth() async throws(PostgresError) -> PostgresConnection {
        lifeline = try await connect(WorkerSessions.lifeline)
        let other = try await connect(WorkerSessions.shared)
        coming = other
        // The first host has stopped answering in between.
        if let first = lifeline, first.server != other.server {
            await first.close()
            lifeline = try await connect(WorkerSessions.lifeline)
        }
        return other
    }

    private func connect(_ settings: SessionSettings) async throws(PostgresError) -> PostgresConnection {
        try await PostgresConnection.connect(
            context.options.database,
            on: context.loop,
            application: "carillon \(context.options.name)",
            to: .writable,
            settings: settings
        )
    }

    private func reconnect(_ settings: SessionSettings) async throws(PostgresError) -> PostgresConnection {
        let connection = try await connect(settings)
        coming = connection
        defer { coming = nil }
        return try await checked(connection)
    }

    private func use(_ connection: PostgresConnection) {
        (shared, coming) = (connection, nil)
        context.event { $0.reconnection.connected(at: .now) }
        context.count { $0.isConnected = true }
        wakeWaiting()
    }

    /// Reconnects whenever a connection is lost, first the lifeline.
    /// - Parameter prepare: Done on a new shared connection before it is used.
    func keepConnections(_ prepare: (PostgresConnection) async throws(PostgresError) -> Void) async {
        for await _ in lossBell.rings {
            var isLossLogged = false
            while lifeline == nil || shared == nil, !Task.isCancelled, context.state.phase != .over {
                guard await context.sleep(for: context.event { $0.reconnection.next() }) else { break }
                do throws(PostgresError) {
                    if lifeline == nil {
                        lifeline = try await reconnect(WorkerSessions.lifeline)
                        lifelineBell.ring()
                    }
                    if shared == nil {
                        let connection = try await reconnect(WorkerSessions.shared)
                        coming = connection
                        defer { coming = nil }
                        try await prepare(connection)
                        use(connection)
                        context.log(.databaseBack)
                        context.dispatchBell.ring()
                        isLossLogged = false
                    }
                    if isLossLogged { context.log(.databaseBack) }
                    isLossLogged = false
                } catch {
                    if connectingFailed(error) { isLossLogged = true }
                }
            }
        }
        wakeWaiting()
    }

    /// Returns whether it was logged.
    private func connectingFailed(_ error: PostgresError) -> Bool {
        guard error.code != .cancelled else { return false }
        context.count { $0[.databaseErrors] += 1 }
        guard let suppressed = context.event({ $0.logLimits.suppressed("connecting: " + error.kind, at: .now) }) else {
            return false
        }
        context.log(.databaseAway(error.description, suppressed: suppressed))
        return true
    }

    // MARK: Silence

    /// Closes all connections to a server that does not answer. Others are tried first.
    func leave(_ server: ServerAddress, silentFor limit: Duration) async {
        departures += 1
        context.options.database.silentHost.left(server)
        context.log(.databaseSilent(server, for: limit))
        await close(because: .unanswered(by: server, for: limit)) { $0.server == server }
    }

    func close(because error: PostgresError, where isMeant: (PostgresConnection) -> Bool = { _ in true }) async {
        for connection in inUse + own.values where isMeant(connection) {
            await connection.close(because: error)
            failed(error, on: connection)
        }
    }

    // MARK: Ending

    /// Closes all connections but the shared one: their statements may wait for locks, which must not delay the end.
    func closeOthers() async {
        await lifeline?.close()
        for connection in own.values { await connection.close() }
    }

    /// Statements under way fail, and nothing waits for a connection any more.
    func stopWaiting() async {
        wakeWaiting()
        await shared?.close()
    }

    func end() async {
        await shared?.close()
        shared = nil
        while let timeout = lockTimeouts.popFirst() { log(timeout, heldBy: []) }
    }

    private func wakeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    // MARK: Asking

    /// Waits for the shared connection. Returns nil if the worker is stopping.
    func connection() async -> PostgresConnection? {
        while context.state.phase != .over, !Task.isCancelled {
            if let shared { return shared }
            await withCheckedContinuation { continuation in
                // The task may have left the loop on its way here, and the worker may have connected.
                guard shared == nil, context.state.phase != .over else { return continuation.resume() }
                waiting.append(continuation)
            }
        }
        return nil
    }

    /// Waits for the connection for heartbeats. Returns nil if the worker has ended.
    func nextLifeline() async -> PostgresConnection? {
        if let lifeline { return lifeline }
        for await _ in lifelineBell.rings {
            if let lifeline { return lifeline }
        }
        return nil
    }

    func ask<R: Sendable>(
        _ connection: PostgresConnection,
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        let result = try await connection.query(statement, parameters, decode)
        if connection === shared { context.count { $0.answeredAt = .now } }
        return result
    }

    /// A statement failed, perhaps because its connection is lost.
    /// - Parameter isPaced: The caller tells the pace of refusals.
    func failed(_ error: PostgresError, on connection: PostgresConnection, isPaced: Bool = false) {
        guard error.code == .closed else {
            if !isPaced { context.event { $0.refusals.failed(error, at: .now) } }
            return logError(error)
        }
        context.count { $0[.databaseErrors] += 1 }
        if lifeline === connection {
            lifeline = nil
            lossBell.ring()
        }
        guard shared === connection else { return }
        shared = nil
        context.event { $0.reconnection.disconnected(at: .now, isOwnFault: error.isOwnFault) }
        context.log(.databaseLost(error.message))
        lossBell.ring()
    }

    /// Counts an error, and logs it unless one of its kind was logged a short while ago.
    func logError(_ error: PostgresError) {
        // The worker itself has cancelled the statement.
        guard error.code != .cancelled else { return }
        context.count { $0[.databaseErrors] += 1 }
        guard let suppressed = context.event({ $0.logLimits.suppressed(error.kind, at: .now) }) else { return }
        guard error.sqlState == SQLState.lockNotAvailable else {
            return context.log(.databaseError(error.description, suppressed: suppressed))
        }
        lockTimeouts.append(LockTimeout(error: error, suppressed: suppressed))
        lockBell.ring()
    }

    // MARK: Connections of their own

    /// Does nothing while a connection with that purpose is open, or while the worker is disconnected: such work is
    /// repeated.
    /// - Returns: Why it failed. That is logged.
    @discardableResult
    func withOwnConnection(
        for purpose: Purpose,
        _ work: (PostgresConnection) async throws(PostgresError) -> Void
    ) async -> PostgresError? {
        guard !purposes.contains(purpose), shared != nil, context.state.phase != .over else { return nil }
        purposes.insert(purpose)
        var fault: PostgresError?
        do throws(PostgresError) {
            try await work(try await connect(for: purpose, WorkerSessions.own))
        } catch {
            fault = error
            // A worker that ends closes these connections.
            if !Task.isCancelled || error.code != .closed { logError(error) }
        }
        await close(for: purpose)
        purposes.remove(purpose)
        return fault
    }

    private func connect(
        for purpose: Purpose,
        _ settings: SessionSettings
    ) async throws(PostgresError) -> PostgresConnection {
        let connection = try await connect(settings)
        own[purpose] = connection
        // The worker may have ended meanwhile.
        if Task.isCancelled || context.state.phase == .over { await connection.close() }
        return try await checked(connection)
    }

    func close(for purpose: Purpose) async { await own.removeValue(forKey: purpose)?.close() }

    /// For statements of apps that have timed out on a lock.
    func detour() async throws(PostgresError) -> PostgresConnection {
        if let open = own[.detour] { return open }
        guard shared != nil, context.state.phase != .over else {
            throw PostgresError(.closed, "there is no connection to PostgreSQL")
        }
        return try await connect(for: .detour, WorkerSessions.detour)
    }

    // MARK: Who holds the locks

    /// Logs the locks that statements waited for in vain, with their holders. These are found on the shared connection,
    /// where the wait for locks is short.
    func logLocks() async {
        for await _ in lockBell.rings {
            while let timeout = lockTimeouts.popFirst() {
                log(timeout, heldBy: await lockHolders(of: timeout.error.lockedRelation))
            }
        }
    }

    private func log(_ timeout: LockTimeout, heldBy holders: [LockHolder]) {
        context.log(.lockMet(timeout.error.description, suppressed: timeout.suppressed, holders: holders))
    }

    /// - Parameter relation: The table whose row is locked, or nil for any table.
    func lockHolders(of relation: String?) async -> [LockHolder] {
        guard let connection = shared else { return [] }
        let parameters = LockHolder.parameters(olderThan: Self.shortestLock, relation: relation)
        do throws(PostgresError) {
            return try await ask(connection, LockHolder.statement, parameters) { try $0.records() }
        } catch {
            failed(error, on: connection)
            return []
        }
    }
}

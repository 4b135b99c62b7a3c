package import CarillonIO

/// The database of a service: a few connections, opened when needed and reopened when lost. A call fails if its connection cannot
/// be opened. A host that leaves a statement unanswered is left: further connections try it last.
package actor ServiceDatabase {
    /// Connections reserved for one kind of statement, so that no other kind waits for it.
    package struct Group: Sendable {
        let name: String
        let connections: Int
        let server: ServerKind
        let settings: SessionSettings
        let silence: SilencePolicy
        /// Whether its statements only read, so that one whose answer was lost can be sent again.
        let isReading: Bool
        /// If set, each connection sends one call at a time, and a call that has waited this long fails. If nil, a call is sent at
        /// once, and PostgreSQL runs it after the earlier ones.
        let longestWait: Duration?
        let connectionTimeout: Duration

        /// - Parameters:
        ///   - statementTimeout: how long the server lets a statement run.
        ///   - connectionTimeout: how long each host may take until it answers on a new connection.
        package init(
            name: String,
            connections: Int,
            server: ServerKind = .writable,
            statementTimeout: Duration,
            settings: SessionSettings,
            isReading: Bool = false,
            longestWait: Duration? = nil,
            connectionTimeout: Duration = .seconds(5)
        ) {
            self.name = name
            self.connections = connections
            self.server = server
            self.settings = settings.limited(to: statementTimeout)
            silence = .beyond(statementTimeout)
            self.isReading = isReading
            self.longestWait = longestWait
            self.connectionTimeout = connectionTimeout
        }
    }

    /// For logs.
    package enum Event: Sendable {
        /// No connection can be opened, or the server has stopped answering. Reported once, however many calls fail.
        case lost(any Error)
        case back
    }

    private struct Line {
        let group: Group
        var connection: PostgresConnection?
        /// The attempt in progress, shared by the calls that arrive meanwhile.
        var connecting: Task<PostgresConnection, any Error>?
        /// The number of calls that use it.
        var calls = 0
        var waiting = CallQueue<CheckedContinuation<Bool, Never>>()
    }

    private let source: DatabaseSource
    private let application: String
    private let loop: EventLoop
    private let observer: @Sendable (Event) -> Void
    private var lines: [Line]
    private var isAway = false
    private var isClosed = false

    package init(
        _ source: DatabaseSource,
        application: String,
        groups: [Group],
        loop: EventLoop,
        observer: @escaping @Sendable (Event) -> Void
    ) {
        self.source = source
        self.application = application
        self.loop = loop
        self.observer = observer
        lines = groups.flatMap { group in (0..<group.connections).map { _ in Line(group: group) } }
    }

    /// Runs one statement as a transaction. If the connection was lost before the statement was sent, or the answer of a reading
    /// statement was lost, the statement is sent again on a new connection.
    package func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ group: Group,
        on places: [Int]? = nil,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await use(leastUsed(of: group, places), repeats: group.isReading) { connection in
            try await connection.query(statement, parameters, decode)
        }
    }

    /// See `ServiceRunner`.
    func listen(
        to channel: String,
        _ group: Group,
        on places: [Int]?,
        _ heard: @escaping @Sendable () -> Void
    ) async throws -> Bool {
        for index in indices(of: group, places) {
            if let connection = lines[index].connection, await connection.isListening { return true }
        }
        return try await use(leastUsed(of: group, places), repeats: true) { connection in
            guard await !connection.isPooled else { return false }
            try await connection.listen(to: channel, heard)
            return true
        }
    }

    /// - Parameter repeats: whether a statement whose answer was lost may be sent again.
    private func use<R: Sendable>(
        _ index: Int,
        repeats: Bool,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        lines[index].calls += 1
        defer { lines[index].calls -= 1 }
        var isRepeated = false
        while true {
            let connection = try await connected(index)
            do {
                try await waitForConnection(index)
                defer { freeConnection(index) }
                return try await body(connection)
            } catch let error as PostgresError where Self.isLoss(error) {
                if lines[index].connection === connection { await lost(index, error) }
                guard repeats || error.effect == .nothingDone, !isRepeated, !isClosed else { throw error }
                isRepeated = true
            }
        }
    }

    /// Whether the connection was lost or the server is ending it.
    private static func isLoss(_ error: PostgresError) -> Bool {
        error.code == .closed || error.sqlState.map(SQLState.unavailable.contains) ?? false
    }

    /// If a server is silent, its other connections are closed too: each would have to find out for itself. The reason says nothing
    /// of the statement that met it first.
    private func lost(_ index: Int, _ error: PostgresError) async {
        let connection = lines[index].connection.take()
        guard error.isSilence else { return }
        let reason = await connection?.reasonOfEnd ?? error
        report(reason)
        let others = lines.indices.filter { lines[$0].connection?.server == connection?.server }
            .compactMap { lines[$0].connection.take() }
        for connection in others { await connection.close(because: reason) }
    }

    /// Lends a dedicated connection, for transactions.
    package func with<R: Sendable>(
        _ group: Group,
        _ body: @Sendable (PostgresConnection) async throws -> R
    ) async throws -> R {
        let connection = try await connect(group)
        do {
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            if (error as? PostgresError)?.isSilence ?? false { report(error) }
            throw error
        }
    }

    package func close() async {
        isClosed = true
        for index in lines.indices {
            for call in lines[index].waiting.closed() { call.resume(returning: false) }
            if let connection = try? await lines[index].connecting?.value { await connection.close() }
            await lines[index].connection?.close()
            lines[index].connection = nil
        }
    }

    // MARK: Waiting

    private func waitForConnection(_ index: Int) async throws {
        guard lines[index].group.longestWait != nil else { return }
        let mayRun = await withCheckedContinuation { call in
            if lines[index].waiting.came(call, at: .now) { call.resume(returning: true) }
        }
        guard !mayRun else { return }
        throw PostgresError(
            .busy,
            "PostgreSQL has taken too long for earlier requests, so this one was not sent to it.",
            hint: "Try again in a moment. pg_stat_activity shows what the sessions of '\(application)' are waiting for."
        )
    }

    private func freeConnection(_ index: Int) {
        guard let longestWait = lines[index].group.longestWait else { return }
        let (next, late) = lines[index].waiting.ended(at: .now, longestWait: longestWait)
        for call in late { call.resume(returning: false) }
        next?.resume(returning: true)
    }

    // MARK: Connecting

    private func indices(of group: Group, _ places: [Int]?) -> [Int] {
        let all = lines.indices.filter { lines[$0].group.name == group.name }
        return places.map { $0.map { all[$0] } } ?? all
    }

    private func leastUsed(of group: Group, _ places: [Int]?) -> Int {
        guard let index = indices(of: group, places).min(by: { lines[$0].calls < lines[$1].calls }) else {
            preconditionFailure("there are lines of each group")
        }
        return index
    }

    private func connected(_ index: Int) async throws -> PostgresConnection {
        if let connection = lines[index].connection { return connection }
        let group = lines[index].group
        let task = lines[index].connecting ?? Task { try await connect(group) }
        lines[index].connecting = task
        let result = await task.result
        // Other calls that awaited the same task get here too, perhaps after another task was started.
        if lines[index].connecting == task {
            lines[index].connecting = nil
            lines[index].connection = isClosed ? nil : try? result.get()
        }
        return try result.get()
    }

    private func connect(_ group: Group) async throws -> PostgresConnection {
        // Nobody would close it.
        guard !isClosed else { throw PostgresError(.closed, "the connections to PostgreSQL were closed") }
        do {
            let connection = try await PostgresConnection.connect(
                source,
                on: loop,
                application: application,
                to: group.server,
                settings: group.settings,
                timeout: group.connectionTimeout,
                silence: group.silence
            )
            guard !isClosed else {
                await connection.close()
                throw PostgresError(.closed, "the connections to PostgreSQL were closed")
            }
            if isAway { observer(.back) }
            isAway = false
            return connection
        } catch {
            if !isClosed { report(error) }
            throw error
        }
    }

    private func report(_ error: any Error) {
        if !isAway { observer(.lost(error)) }
        isAway = true
    }
}

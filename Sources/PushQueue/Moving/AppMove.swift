package import CarillonIO
package import CarillonPostgres

/// Moves an app to another database, while both databases and their workers are in use: see docs/moving.md and
/// `migrations/functions/move`.
///
/// The app belongs to the target from the commit in the source that says so. Each step may be repeated: a run continues where
/// an earlier one was killed, and a later run keeps an earlier one that still runs from writing.
///
/// A batch of rows is deleted in a transaction of the source, which commits after the target has. If the source does not commit,
/// the next run brings the batch again: the target then either has nothing of it, because the state of an app that has not
/// arrived is deleted first, or knows its rows.
package struct AppMove: Sendable {
    /// The ids of the app in both databases, and the number of this run.
    private struct Place: Sendable {
        let source: Int32
        let target: Int32
        let run: Int64
    }

    private typealias Departure = MoveRecord.Departure
    private typealias Table = MoveRecord.Table
    private typealias Tokens = MoveRecord.Tokens
    private typealias TokenChanges = MoveRecord.TokenChanges
    private typealias TableRows = MoveRecord.TableRows
    private typealias History = MoveRecord.History
    private typealias LateBatch = MoveRecord.LateBatch
    private typealias Pause = MoveRecord.Pause
    private typealias WatchedTable = MoveRecord.WatchedTable
    private typealias Statements = MoveStatements

    private static let maxRows: Int32 = 2_000
    /// A job may have a thousand tokens.
    private static let maxJobs: Int32 = 500
    /// How long to wait until nothing is in flight. Meanwhile the app sends nothing.
    private static let drainLimit = Duration.seconds(60)
    /// How long to wait for transactions of others. Meanwhile the target sends.
    private static let writersLimit = Duration.seconds(60)

    private let app: String
    private let source: MoveDatabase
    private let target: MoveDatabase
    private let loop: EventLoop
    private let report: @Sendable (MoveStep) async throws -> Void

    /// Nothing else may use the connections meanwhile.
    package init(
        of app: String,
        from source: PostgresConnection,
        to target: PostgresConnection,
        labels: (source: String, target: String),
        on loop: EventLoop,
        report: @escaping @Sendable (MoveStep) async throws -> Void
    ) {
        self.app = app
        self.source = MoveDatabase(connection: source, role: "source", label: labels.source)
        self.target = MoveDatabase(connection: target, role: "target", label: labels.target)
        self.loop = loop
        self.report = report
    }

    /// Undoes a move that has not left the source. What it has brought to the target stays there.
    package static func cancel(_ app: String, from source: PostgresConnection) async throws {
        try await source.execute(Statements.stay, Parameters(app))
    }

    /// The same, and deletes what it has brought to the target.
    package func cancel() async throws {
        try await source.with { try await Self.cancel(app, from: $0) }
        let installation = try await source.query(Statements.installation) { try $0.string(0, 0) }
        try await target.execute(Statements.discard, Parameters(app, installation))
    }

    package func run() async throws {
        try await compare()
        try await refuseTakenName()
        try await checkWatchedTables()
        let departure = try await begin()
        let place = try await place(of: departure)
        try await report(.begun)
        let tables: [Table] = try await source.values(of: Statements.tables)
        let state = tables.filter { !$0.isHistory }.map(\.place)
        if !departure.hasLeft {
            try await copyTokens(place)
            try await leave(place, state)
            try await report(.left)
        }
        try await bringLate(place, state)
        try await bringChanges(place)
        try await goLive(place)
        try await report(.live)
        try await awaitWriters(place, state)
        for table in tables where table.isHistory { try await bringHistory(place, table.place) }
        try await bringChanges(place)
        try await deleteTokens(place)
        try await source.execute(Statements.unfollow, Parameters(place.source))
        try await bringChanges(place)
        // Those that were written meanwhile.
        try await deleteTokens(place)
        try await target.execute(Statements.endArrival, Parameters(place.target, place.run))
        try await source.execute(Statements.endDeparture, Parameters(place.source, place.run))
        try await report(.ended)
    }

    // MARK: Beginning

    private func compare() async throws {
        let from = try await source.query(Statements.place) { try $0.string(0, 0) }
        let to = try await target.query(Statements.place) { try $0.string(0, 0) }
        guard from != to else { throw SettingsError(.invalid, "The target is the source itself, or a copy of it.") }
        // A row of a table is written and read as text, so its columns must be the same.
        let here = try await source.query(Statements.version) { try $0.int64(0, 0) }
        let there = try await target.query(Statements.version) { try $0.int64(0, 0) }
        guard here == there else {
            throw SettingsError(
                .invalid,
                "The source has version \(here) of the schema and the target version \(there): run 'carillon migrate up' on both."
            )
        }
    }

    /// Before anything is written. A move in the other direction would replace what the source knows of the move that brought the app.
    private func refuseTakenName() async throws {
        let isKnown = try await source.query(Statements.isLeaving, Parameters(app)) { try $0.bool(0, 0) }
        guard !isKnown, try await target.query(Statements.isTaken, Parameters(app), { try $0.bool(0, 0) }) else {
            return
        }
        throw SettingsError(
            .nameTaken,
            "The target has an app named '\(app)' already: remove or rename one of the two."
        )
    }

    /// Rows of `watched_tables` name a table of the application, which the target needs too.
    private func checkWatchedTables() async throws {
        let watched: [WatchedTable] = try await source.values(of: Statements.watched, Parameters(app))
        for table in watched {
            try await target.execute(
                Statements.expectWatched,
                Parameters(table.relation, table.tokenColumn, table.updatedColumn, table.appColumn)
            )
        }
    }

    private func begin() async throws -> Departure {
        try await source.transaction {
            try await source.query(Statements.leave, Parameters(app, target.label)) { try $0.record(0) }
        }
    }

    /// A target that refuses the app at the first run leaves no move behind.
    private func place(of departure: Departure) async throws -> Place {
        guard departure.run == 1 else { return try await expect(departure) }
        return try await source.undoing(by: Statements.stay, Parameters(app)) { try await expect(departure) }
    }

    private func expect(_ departure: Departure) async throws -> Place {
        let app = self.app
        let id: Int32 = try await target.transaction {
            let known: Int32? = try await target.query(
                Statements.arriving,
                Parameters(app, departure.move, departure.run, departure.source)
            ) { try $0.int32IfPresent(0, 0) }
            if let known { return known }
            guard !departure.hasLeft else {
                throw SettingsError(.unknownName, "The app \(app) has moved, but to another database than this target.")
            }
            return try await add(departure)
        }
        return Place(source: departure.appID, target: id, run: departure.run)
    }

    private func add(_ departure: Departure) async throws -> Int32 {
        let settings = try await source.with { try await AppStore($0).find(app).settings }
        if let credential = settings.credential {
            let text = try await source.with { try await CredentialStore($0).text(of: credential) }
            try await target.with { try await CredentialStore($0).keep(text, as: credential) }
        }
        try await target.with { try await AppStore($0).insert(settings) }
        let id = try await target.query(
            Statements.expect,
            Parameters(app, departure.move, departure.run, departure.source, source.label)
        ) { try $0.int32(0, 0) }
        let roles: [String] = try await source.values(of: Statements.roles, Parameters(departure.appID))
        for role in roles { try await target.execute(Statements.isolate, Parameters(app, role)) }
        return id
    }

    // MARK: Tokens

    /// While the source goes on. Triggers note what changes meanwhile.
    private func copyTokens(_ place: Place) async throws {
        var last = try await target.query(Statements.tokensUntil, Parameters(place.target)) {
            try $0.stringIfPresent(0, 0)
        }
        var copied = 0
        while true {
            let tokens: Tokens = try await source.query(
                Statements.tokens,
                Parameters(place.source, last, Self.maxRows)
            ) { try $0.record(0) }
            guard let rows = tokens.rows else { break }
            try await target.execute(Statements.putTokens, Parameters(place.target, place.run, rows, tokens.last))
            last = tokens.last
            copied += Int(tokens.count)
            try await report(.copied(tokens: copied))
        }
        try await bringChanges(place)
    }

    private func bringChanges(_ place: Place) async throws {
        while try await source.transaction({ try await bringSomeChanges(place) }) {}
    }

    /// Returns whether there are more.
    private func bringSomeChanges(_ place: Place) async throws -> Bool {
        let changes: TokenChanges = try await source.query(
            Statements.changes,
            Parameters(place.source, place.run, Self.maxRows)
        ) { try $0.record(0) }
        try await put(changes, place)
        return changes.count > 0
    }

    private func put(_ changes: TokenChanges, _ place: Place) async throws {
        guard let tokens = changes.tokens, tokens != "{}" else { return }
        let parameters = Parameters(place.target, place.run, tokens, changes.rows, changes.readAt)
        try await target.execute(Statements.putChanges, parameters)
    }

    private func deleteTokens(_ place: Place) async throws {
        var deleted = 0
        while true {
            let changes: TokenChanges = try await source.transaction {
                let changes: TokenChanges = try await source.query(
                    Statements.lateTokens,
                    Parameters(place.source, place.run, Self.maxRows)
                ) { try $0.record(0) }
                try await put(changes, place)
                return changes
            }
            guard changes.count > 0 else { return }
            deleted += Int(changes.count)
            try await report(.deleted(tokens: deleted))
        }
    }

    // MARK: Leaving

    private func leave(_ place: Place, _ state: [Int32]) async throws {
        let parameters = Parameters(place.source, place.run)
        let end = MonotonicInstant.now + Self.drainLimit
        // Undoes nothing if the app has left after all.
        try await source.undoing(by: Statements.undrain, parameters) {
            while true {
                let inFlight = try await source.query(Statements.drain, parameters) { try $0.int64(0, 0) }
                if inFlight == 0 {
                    try await report(.drained)
                    try await bringChanges(place)
                    if try await depart(place, state) { return }
                }
                guard MonotonicInstant.now < end else {
                    throw SettingsError(
                        .inUse,
                        "After \(Self.drainLimit.seconds) s, pushes of the app are still in flight, or a transaction still "
                            + "holds its rows. The app goes on sending from the source. Run this again."
                    )
                }
                try await loop.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Returns false if a worker has claimed something meanwhile, or a transaction does not end.
    private func depart(_ place: Place, _ state: [Int32]) async throws -> Bool {
        do {
            try await source.transaction {
                try await target.transaction {
                    let numbers = try await source.query(Statements.numbers) { try $0.string(0, 0) }
                    try await target.execute(Statements.beginArrival, Parameters(place.target, place.run, numbers))
                    while try await bringSomeChanges(place) {}
                    for table in state {
                        while try await bringRows(place, table).count >= Self.maxJobs {}
                    }
                    try await source.execute(Statements.depart, Parameters(place.source, place.run))
                }
                try await report(.brought)
            }
            return true
        } catch let error as PostgresError
            where [SQLState.objectInUse, SQLState.lockNotAvailable].contains(error.sqlState)
        {
            return false
        }
    }

    /// Brings the next rows of a table, and returns how many and the ids of jobs among them.
    private func bringRows(_ place: Place, _ table: Int32) async throws -> (count: Int64, ids: String) {
        let taken: TableRows = try await source.query(
            Statements.rows,
            Parameters(place.source, place.run, table, Self.maxJobs)
        ) { try $0.record(0) }
        return (taken.count, try await put(taken.rows, place, table))
    }

    private func put(_ rows: String?, _ place: Place, _ table: Int32) async throws -> String {
        guard let rows else { return "{}" }
        return try await target.query(Statements.putRows, Parameters(place.target, place.run, table, rows)) {
            try $0.string(0, 0)
        }
    }

    // MARK: After it has left

    /// What was written in the source by plain INSERT, or by transactions that were open when the app left.
    private func bringLate(_ place: Place, _ state: [Int32]) async throws {
        while try await bringLateBatch(place, state) {}
    }

    /// Batches have numbers, so that a job which was sent already is not brought again. Returns whether there are more.
    private func bringLateBatch(_ place: Place, _ state: [Int32]) async throws -> Bool {
        let arrived: LateBatch = try await target.query(Statements.arrivedBatch, Parameters(place.target)) {
            try $0.record(0)
        }
        return try await source.transaction {
            let batch = try await source.query(
                Statements.batch,
                Parameters(place.source, place.run, arrived.lateBatch, arrived.ids)
            ) { try $0.int64(0, 0) }
            return try await target.transaction {
                var count: Int64 = 0
                var ids: [String] = []
                for table in state {
                    let brought = try await bringRows(place, table)
                    count += brought.count
                    ids.append(brought.ids)
                }
                let parameters = Parameters(place.target, place.run, batch, ids.joined(separator: " "))
                try await target.execute(Statements.noteBatch, parameters)
                return count > 0
            }
        }
    }

    private func goLive(_ place: Place) async throws {
        let pause: Pause = try await source.query(Statements.pause, Parameters(place.source)) { try $0.record(0) }
        let parameters = Parameters(place.target, place.run, pause.wasPaused, pause.pausedReason)
        try await target.execute(Statements.arrive, parameters)
    }

    /// Transactions that were open when the app left may still insert rows.
    private func awaitWriters(_ place: Place, _ state: [Int32]) async throws {
        let end = MonotonicInstant.now + Self.writersLimit
        var writers = try await source.query(Statements.writers) { try $0.string(0, 0) }
        while true {
            writers = try await source.query(Statements.openWriters, Parameters(writers)) { try $0.string(0, 0) }
            try await bringLate(place, state)
            if writers == "{}" { return }
            guard MonotonicInstant.now < end else {
                throw SettingsError(
                    .inUse,
                    "The app has moved, and the target sends. Transactions that may still write for it are open in the source: "
                        + "run this again when they have ended."
                )
            }
            try await loop.sleep(for: .milliseconds(100))
        }
    }

    private func bringHistory(_ place: Place, _ table: Int32) async throws {
        var partition: String?
        var page: Int64 = 0
        var moved = 0
        repeat {
            let parameters = Parameters(place.source, place.run, table, partition, page)
            let history: History = try await source.transaction {
                let history: History = try await source.query(Statements.history, parameters) { try $0.record(0) }
                _ = try await put(history.rows, place, table)
                return history
            }
            (partition, page) = (history.nextPartition, history.nextPage)
            moved += Int(history.count)
            if history.count > 0 { try await report(.history(rows: moved)) }
        } while partition != nil
    }
}

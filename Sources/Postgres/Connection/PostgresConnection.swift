import CarillonCPostgres
import CarillonIO
import CarillonText

/// A session with PostgreSQL, shared by any number of tasks.
///
/// Statements are pipelined and answered in the order of the calls. Each runs in its own implicit transaction, so a failure affects
/// no other statement. The actor runs on an event loop, and nothing here blocks.
package actor PostgresConnection {
    let loop: EventLoop
    private var session: LibpqSession?
    private var watch: WatchToken?
    private var wantsToWrite = false
    private var pipeline = Pipeline<PostgresRequest>(limit: 64)
    /// Some poolers (PgBouncer 1.18) release a server process once it has answered, even if it has received part of the next
    /// statement. The rest then goes to another process.
    private static let limitWhenPooled = 1
    /// How many bytes of its input the current `COPY` has been given; nil if the server is not waiting for input.
    private var fed: Int?
    /// How many bytes of input libpq is given at a time.
    private static let inputChunk = 65_536
    private var prepared = PreparedStatements()
    private let kind: ServerKind
    let settings: SessionSettings
    /// Whether a pooler is in between. It may run each transaction in a different server process, so statements are unnamed and
    /// sent with their settings. Assumed until the first answer.
    package private(set) var isPooled = true
    /// Nil while it is open.
    private(set) var reasonOfEnd: PostgresError?
    /// The server's version, such as 150018 for 15.18.
    package nonisolated let serverVersion: Int
    /// The server process, as in `pg_stat_activity`; meaningless behind a pooler.
    package nonisolated let backendProcessID: Int32
    /// Where the server, or a pooler, is.
    package nonisolated let server: ServerAddress
    /// The same, by its address.
    nonisolated let host: HostList
    /// Grows whenever something comes from the server.
    package private(set) var arrivals = 0
    /// Nil if the session waits for answers however long they take.
    var silence: SilenceGuard?
    /// Called after notifications and at the end of the session.
    var heard: (@Sendable () -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ session: LibpqSession, _ kind: ServerKind, _ settings: SessionSettings, on loop: EventLoop) {
        self.loop = loop
        self.kind = kind
        self.settings = settings.known(to: session.serverVersion)
        self.session = session
        serverVersion = session.serverVersion
        backendProcessID = session.backendProcessID
        server = session.server
        host = session.host
    }

    /// Not isolated, because the loop may have ended already. No task is waiting for an answer, because it would hold a reference.
    deinit {
        guard let session, let watch else { return }
        // Close the descriptor only after cancelling its watch; if the loop has ended, there is no watch.
        let loop = self.loop
        loop.submit {
            loop.cancel(watch)
            withExtendedLifetime(session) {}
        }
    }

    package var isClosed: Bool { session == nil }

    /// Whether statements wait for answers.
    package var isWaiting: Bool { !pipeline.isEmpty }

    // MARK: Asking

    /// Runs a statement and decodes its rows on the loop, in place.
    package func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        let result = try await ask(.statement(statement, parameters))
        do {
            return try decode(Rows(result))
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }

    /// Runs a statement and returns how many rows it inserted, updated, deleted or selected.
    @discardableResult
    package func execute(
        _ statement: Statement,
        _ parameters: Parameters = Parameters()
    ) async throws(PostgresError) -> Int {
        try await ask(.statement(statement, parameters)).affectedRows
    }

    /// Runs several statements, separated by semicolons, after all earlier ones and before any later one. They form one
    /// transaction, unless they control transactions themselves.
    package func script(_ sql: String) async throws(PostgresError) {
        _ = try await ask(.script(sql))
    }

    /// Ends the session. Statements still in flight end with an unknown outcome.
    package func close() { close(because: PostgresError(.closed, "the connection to PostgreSQL was closed")) }

    func ask(_ work: PostgresRequest.Work) async throws(PostgresError) -> ServerResult {
        let completion: PostgresRequest.Completion = await withCheckedContinuation { continuation in
            // Check only here: a task that does not prefer the loop may leave it on the way, and the connection may end in the
            // meantime.
            if let reasonOfEnd { return continuation.resume(returning: .failure(Self.neverSent(work, reasonOfEnd))) }
            pipeline.enqueue(work.kind, PostgresRequest(work, continuation))
            send()
            watchSilence()
        }
        return try completion.get()
    }

    // MARK: Sending

    func begin() throws(PostgresError) {
        guard let session else { return }
        do {
            watch = try loop.watch(session.socket, for: .read) { [weak self] ready in
                self?.assumeIsolated { $0.ready(ready) }
            }
        } catch {
            self.session = nil
            throw PostgresError(.unreachable, error.message)
        }
    }

    /// Determines whether the server process is the one connected to or a pooler is in between.
    /// - Parameter silence: what watches over the server from then on.
    func greet(within limit: Duration, then silence: SilenceGuard?) async throws(PostgresError) {
        let alarm = loop.schedule(at: .now + limit) { [weak self] in
            self?.assumeIsolated { $0.close(because: .silent(for: limit)) }
        }
        defer { loop.cancel(alarm) }
        let parameters = settings.isEmpty ? Parameters() : Parameters(backendProcessID)
        let result = try await ask(.greeting(SessionSettings.greeting(settings), parameters))
        do {
            isPooled = try Rows(result).int32(0, 0) != backendProcessID
        } catch {
            throw PostgresError(.unexpectedValue, "the server did not return its process ID")
        }
        if isPooled { pipeline.limit = Self.limitWhenPooled }
        self.silence = silence
    }

    private func send() {
        var hasDeparted: Bool
        repeat {
            hasDeparted = false
            while let session, let request = pipeline.nextToSend() {
                hasDeparted = true
                guard send(request.work, on: session) else { return endAsLost() }
            }
            flush()
            // libpq may read while it sends, to make room. The descriptor does not become readable again for bytes already read.
            if hasDeparted { receive() }
        } while hasDeparted
    }

    /// Returns false if the connection is lost.
    private func send(_ work: PostgresRequest.Work, on session: LibpqSession) -> Bool {
        switch work {
        case .script(let sql), .copy(let sql, _):
            guard session.exitPipeline(), session.send(sql) else { return false }
            return true
        case .greeting(let sql, let parameters):
            return sync(session, hasTaken: send(sql, parameters, after: settings.isolation, on: session))
        case .statement(let statement, let parameters):
            if isPooled { return sync(session, hasTaken: sendUnnamed(statement, parameters, on: session)) }
            do {
                return sync(session, hasTaken: try sendPrepared(statement, parameters, on: session))
            } catch {
                pipeline.last?.failed(error)
                return session.sync()
            }
        }
    }

    /// A statement that is too large for the protocol fails without affecting others.
    private func sync(_ session: LibpqSession, hasTaken: Bool) -> Bool {
        if !hasTaken {
            guard session.isAlive else { return false }
            pipeline.last?.failed(PostgresError(.unexpectedValue, session.message))
        }
        return session.sync()
    }

    private func sendPrepared(
        _ statement: Statement,
        _ parameters: Parameters,
        on session: LibpqSession
    ) throws(PostgresError) -> Bool {
        let (name, isNew) = try prepared.use(statement, types: parameters.types)
        pipeline.last?.nameOnServer = name
        if isNew { pipeline.last?.preludes = 1 }
        let isSent =
            (!isNew || session.prepare(name, statement.sql, parameters.types)) && session.execute(name, parameters)
        if !isSent, isNew { prepared.forget(statement, as: name) }
        return isSent
    }

    private func sendUnnamed(_ statement: Statement, _ parameters: Parameters, on session: LibpqSession) -> Bool {
        send(statement.sql, parameters, after: settings.isEmpty ? [] : settings.openings, on: session)
    }

    /// Without a synchronization point between them, the preludes and the statement are one transaction.
    private func send(
        _ sql: String,
        _ parameters: Parameters,
        after preludes: [String],
        on session: LibpqSession
    ) -> Bool {
        pipeline.last?.preludes = preludes.count
        for prelude in preludes {
            guard session.execute(sql: prelude, Parameters()) else { return false }
        }
        return session.execute(sql: sql, parameters)
    }

    /// Whether the kernel took everything.
    @discardableResult
    private func flush() -> Bool {
        guard let session, let watch else { return false }
        guard let isDone = session.flush() else {
            endAsLost()
            return false
        }
        // The watch's handler sends more input of a COPY once there is room.
        let wantsToWrite = !isDone || fed != nil
        if self.wantsToWrite != wantsToWrite {
            self.wantsToWrite = wantsToWrite
            loop.update(watch, to: wantsToWrite ? [.read, .write] : .read)
        }
        return isDone
    }

    /// Gives a `COPY` its input in chunks, each once the previous one has been sent, because libpq would buffer all of it. Returns
    /// true if no `COPY` is waiting for more.
    private func feed() -> Bool {
        guard self.fed != nil else { return true }
        while let fed, case .copy(_, let bytes)? = pipeline.current?.work {
            guard flush(), let session else { return false }
            let isTaken: Bool
            if fed < bytes.count {
                let end = min(fed + Self.inputChunk, bytes.count)
                isTaken = session.put(bytes[fed..<end])
                self.fed = end
            } else {
                isTaken = session.endInput()
                self.fed = nil
            }
            guard isTaken else {
                endAsLost()
                return false
            }
        }
        flush()
        return true
    }

    // MARK: Receiving

    private func ready(_ interest: Interest) {
        guard let session else { return }
        if interest.contains(.read) { arrivals += 1 }
        if interest.contains(.write) { silence?.signs += 1 }
        let isAlive = session.read()
        receive()
        if !isAlive { return endAsLost() }
        send()
    }

    private func receive() {
        defer { hear() }
        var endsInARow = 0
        // libpq has no result while the server waits for input.
        while feed(), let session {
            switch session.next() {
            case .incomplete:
                return
            case .end:
                guard pipeline.current != nil else { return }
                endsInARow += 1
                if pipeline.isRunningScript {
                    guard session.enterPipeline() else { return endAsLost() }
                    complete()
                } else if endsInARow > 2 {
                    return  // libpq expects no more results, which happens only after a lost connection
                }
            case .result(let result):
                endsInARow = 0
                received(result)
            }
        }
    }

    /// libpq keeps the notifications that it finds between results.
    private func hear() {
        guard let session, let heard else { return }
        var hasHeard = false
        while session.takeNotification() { hasHeard = true }
        if hasHeard { heard() }
    }

    private func received(_ result: ServerResult) {
        arrivals += 1
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: pipeline.current?.succeeded(result)
        // An earlier statement of the same transaction has failed.
        case PGRES_PIPELINE_ABORTED: break
        case PGRES_PIPELINE_SYNC: complete()
        case PGRES_COPY_IN:
            guard case .copy? = pipeline.current?.work else {
                return close(because: PostgresError(.closed, "a COPY from the client needs a call of its own"))
            }
            fed = 0
        case PGRES_COPY_OUT, PGRES_COPY_BOTH:
            close(because: PostgresError(.closed, "a COPY to the client is not possible here"))
        default: failed(result)
        }
    }

    private func failed(_ result: ServerResult) {
        guard let request = pipeline.current else { return }
        var error = result.error(effect: result.endsSession ? .unknown : .nothingDone)
        if case .statement(let statement, _) = request.work, let name = request.nameOnServer {
            if request.preludes > 0 {
                prepared.refused(statement, as: name, error)
            } else if [SQLState.undefinedStatement, SQLState.featureNotSupported].contains(error.sqlState) {
                error = prepared.reason(for: statement, as: name) ?? error
                prepared.forget(statement, as: name)
            }
        }
        pipeline.current?.failed(error)
        // The answer is lost, for example for lack of memory, as if the connection had broken.
        if result.isOfLibpq { return endAsLost() }
        // After a failover, this server may remain a standby while another accepts writes.
        if error.sqlState == SQLState.readOnlyTransaction, kind == .writable {
            let reason = "the server of this connection to PostgreSQL no longer accepts writes"
            close(because: PostgresError(.closed, reason))
        }
    }

    private func complete() { pipeline.completed()?.complete() }

    // MARK: The end

    private func endAsLost() {
        let text = session?.message.split(separator: "\n").first.map { String($0).trimmed } ?? ""
        var reason = PostgresError(.closed, "the connection to PostgreSQL is lost" + (text.isEmpty ? "" : ": \(text)"))
        reason.isOwnFault = session?.isAlive ?? false
        close(because: reason)
    }

    /// Ends the session, for a reason that its statements report.
    package func close(because reason: PostgresError) {
        guard let session = self.session.take() else { return }
        reasonOfEnd = reason
        if let watch = self.watch.take() { loop.cancel(watch) }
        // Close the descriptor here, after its watch has been cancelled.
        withExtendedLifetime(session) {}
        let (sent, unsent) = pipeline.takeAll()
        for request in sent { request.completeAsLost(reason) }
        for request in unsent { request.continuation.resume(returning: .failure(Self.neverSent(request.work, reason))) }
        heard.take()?()
    }

    private static func neverSent(_ work: PostgresRequest.Work, _ reason: PostgresError) -> PostgresError {
        var loss = PostgresError(.closed, reason.message + "; the statement was not sent", statement: work.name)
        loss.isOwnFault = reason.isOwnFault
        loss.isSilence = reason.isSilence
        return loss
    }
}

import CarillonCPostgres
import CarillonIO
import Glibc

/// Connects on a short-lived thread, which is abandoned at the time limit: libpq blocks in many places, such as the resolver
/// for every host, service and password files, and Kerberos.
final class PostgresConnector: Sendable {
    private typealias Opening = Swift::Result<LibpqSession, PostgresError>

    private enum State {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case ended(Opening)
    }

    private let string: ConnectionString
    private let application: String
    private let kind: ServerKind
    private let allowed: Duration
    /// The time limit for a host after which there are others: those are tried first, and then it again.
    let brief: Duration
    private let silentHost: SilentHost
    /// The only host to connect to, if it is not for the string to say.
    private let only: HostList?
    /// The deadline for all hosts together.
    private let deadline: MonotonicInstant
    private let state = Guarded(State.new)

    /// - Parameter timeout: for each host.
    init(
        _ string: ConnectionString,
        application: String,
        to kind: ServerKind,
        _ timeout: Duration,
        _ silentHost: SilentHost
    ) {
        self.string = string
        self.application = application
        self.kind = kind
        allowed = timeout
        brief = string.timeout ?? min(timeout, Self.soon)
        self.silentHost = silentHost
        only = nil
        deadline = .now + timeout * string.hostCount + brief * (string.hostCount - 1)
    }

    /// For one host, whatever the string names.
    init(_ string: ConnectionString, application: String, at host: HostList, _ timeout: Duration) {
        self.string = string
        self.application = application
        kind = .any
        (allowed, brief) = (timeout, timeout)
        silentHost = SilentHost()
        only = host
        deadline = .now + timeout
    }

    /// Whether something answers, if only to refuse. Blocks the thread.
    func isAnswered() -> Bool {
        if case .failure(let error) = run() { !error.isSilence } else { true }
    }

    func connect(on loop: EventLoop) async throws(PostgresError) -> LibpqSession {
        let alarm = Task {
            try await loop.sleep(until: deadline)
            end(.failure(tookTooLong))
        }
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayStart = state.withLock { state in
                    guard case .new = state else { return false }
                    state = .waiting(continuation)
                    return true
                }
                guard mayStart else { return continuation.resume() }
                do throws(IOError) {
                    try Thread.detach(name: "pg-connect") { self.end(self.run()) }
                } catch {
                    end(.failure(PostgresError(.unreachable, error.message, underlying: error)))
                }
            }
        } onCancel: {
            end(.failure(Self.cancelled))
        }
        return try opening.get()
    }

    private var opening: Opening {
        state.withLock { state in
            guard case .ended(let opening) = state else { return .failure(Self.cancelled) }
            return opening
        }
    }

    /// Two hosts in a row may be silent, and a worker still sends within ten seconds of its start.
    private static let soon = Duration.seconds(4)

    private static let cancelled = PostgresError(.cancelled, "connecting to PostgreSQL was cancelled")

    private var tookTooLong: PostgresError {
        PostgresError(
            .unreachable,
            "PostgreSQL did not answer within \(allowed)",
            hint: "check the address, whether a firewall drops the connection, and whether the server hangs",
            isSilence: true
        )
    }

    /// Only the first call counts. A connection made too late is closed when its last reference is dropped.
    private func end(_ opening: Opening) {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            if case .ended = state { return nil }
            defer { state = .ended(opening) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume()
    }

    // MARK: On the thread

    private enum HostTry {
        case connected(LibpqSession)
        case failed(report: String)
        /// A host took too long; `rest` are those after it.
        case silent(report: String, ServerAddress, rest: HostList?)
    }

    private func run() -> Opening {
        let all = string.hosts
        var hosts = only ?? silentHost.server.flatMap { all.withLast($0) }
        // Those that did not answer soon, until they are tried again.
        var late: [Int]? = []
        var reports = ""
        while true {
            switch tryHosts(hosts, isAgain: late == nil) {
            case .connected(let session):
                guard session.enterPipeline() else { return .failure(PostgresError(.unreachable, session.message)) }
                return .success(session)
            case .failed(let report):
                reports += report
                guard let indices = late, !indices.isEmpty else {
                    return .failure(LibpqReport(reports).error(isNamed: string.isNamed))
                }
                (hosts, late) = (all.picking(indices), nil)
            case .silent(let report, let server, let rest):
                reports += report + "\n"
                silentHost.note(server)
                if let rest {
                    if let index = all.index(of: server) { late?.append(index) }
                    hosts = rest
                } else {
                    guard let indices = late, !indices.isEmpty else { return .failure(tookTooLong) }
                    (hosts, late) = (all.picking(indices), nil)
                }
                if deadline <= .now { return .failure(tookTooLong) }
            }
        }
    }

    /// Tries the hosts; nil for those of the connection string.
    /// - Parameter isAgain: They did not answer soon, so they have more time.
    private func tryHosts(_ hosts: HostList?, isAgain: Bool) -> HostTry {
        guard let session = begin(hosts) else {
            return .failed(report: "there is no memory for a connection to PostgreSQL")
        }
        // Makes reports include the SQLSTATE, which does not depend on the server's language.
        PQsetErrorVerbosity(session, PQERRORS_VERBOSE)
        var step = PGRES_POLLING_WRITING
        var server = LibpqSession.server(of: session)
        var rest = HostList(of: session).after(server)
        var deadline = MonotonicInstant.now + (rest == nil || isAgain ? allowed : brief)
        while PQstatus(session) != CONNECTION_BAD, step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING {
            let events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT
            let end = min(deadline, self.deadline)
            guard end > .now, BlockingWait.readiness(of: PQsocket(session), for: events, until: end) else {
                defer { PQfinish(session) }
                return .silent(
                    report:
                        #"connection to server at "\#(server.host)", port \#(server.port) failed: no answer in time"#,
                    server,
                    rest: rest
                )
            }
            step = PQconnectPoll(session)
            let next = LibpqSession.server(of: session)
            if next != server {
                (server, rest) = (next, HostList(of: session).after(next))
                deadline = .now + (rest == nil || isAgain ? allowed : brief)
            }
        }
        guard PQstatus(session) == CONNECTION_OK else {
            defer { PQfinish(session) }
            return .failed(report: String(cString: PQerrorMessage(session)))
        }
        PQsetErrorVerbosity(session, PQERRORS_DEFAULT)
        return .connected(LibpqSession(owning: session))
    }

    private func begin(_ hosts: HostList?) -> OpaquePointer? {
        let pairs = string.keywords(application: application, to: kind) + (hosts?.keywords ?? [])
        let keywords = pairs.map { strdup($0.keyword) }
        let values = pairs.map { strdup($0.value) }
        defer {
            for copy in keywords { free(copy) }
            for copy in values { free(copy) }
        }
        let first = keywords.map { UnsafePointer($0) } + [nil]
        let second = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(first, second, 1)
    }
}

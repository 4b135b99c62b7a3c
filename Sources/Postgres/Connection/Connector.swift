import CPostgres
import Glibc
import IO

/// Connecting, which blocks in many places: the resolver, for every host that the connection string names, service and
/// password files, Kerberos. So it has a short-lived thread of its own, which nobody waits for longer than allowed.
final class Connector: Sendable {
    private typealias Answer = Swift::Result<Wire, PostgresError>

    private enum State {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case ended(Answer)
    }

    private let string: ConnectionString
    private let application: String
    private let deadline: MonotonicInstant
    private let allowed: Duration
    private let state = Guarded(State.new)

    init(_ string: ConnectionString, application: String, timeout: Duration) {
        self.string = string
        self.application = application
        self.allowed = timeout
        self.deadline = .now + timeout
    }

    func connect(on loop: EventLoop) async throws(PostgresError) -> Wire {
        let alarm = Task {
            try await loop.sleep(until: self.deadline)
            self.end(.failure(self.tookTooLong))
        }
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayStart = self.state.withLock { state in
                    guard case .new = state else { return false }
                    state = .waiting(continuation)
                    return true
                }
                guard mayStart else { return continuation.resume() }
                do throws(IOError) {
                    try Thread.detach(name: "pg-connect") { self.end(self.run()) }
                } catch {
                    self.end(.failure(PostgresError(.unreachable, error.message)))
                }
            }
        } onCancel: {
            self.end(.failure(Self.cancelled))
        }
        return try self.answer.get()
    }

    /// What came of it, once somebody was woken for it.
    private var answer: Answer {
        self.state.withLock { state in
            guard case .ended(let answer) = state else { return .failure(Self.cancelled) }
            return answer
        }
    }

    private static let cancelled = PostgresError(.cancelled, "connecting to PostgreSQL was cancelled")

    private var tookTooLong: PostgresError {
        PostgresError(
            .unreachable,
            "PostgreSQL did not answer within \(self.allowed)",
            hint: "look whether the address is right and whether a firewall lies between"
        )
    }

    /// The first answer counts; a connection that comes too late is closed by its last reference.
    private func end(_ answer: Answer) {
        let continuation: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            if case .ended = state { return nil }
            defer { state = .ended(answer) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume()
    }

    // MARK: On the thread

    private func run() -> Answer {
        guard let session = self.begin() else {
            return .failure(PostgresError(.unreachable, "there is no memory for a connection to PostgreSQL"))
        }
        // With its number the server's refusal can be told apart in every language it may speak.
        PQsetErrorVerbosity(session, PQERRORS_VERBOSE)
        if PQstatus(session) != CONNECTION_BAD {
            var step = PGRES_POLLING_WRITING
            while step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING {
                guard Self.wait(for: step, on: PQsocket(session), until: self.deadline) else {
                    PQfinish(session)
                    return .failure(self.tookTooLong)
                }
                step = PQconnectPoll(session)
            }
        }
        guard PQstatus(session) == CONNECTION_OK else {
            let message = String(cString: PQerrorMessage(session))
            PQfinish(session)
            return .failure(Refusal(message).error(self.string))
        }
        PQsetErrorVerbosity(session, PQERRORS_DEFAULT)
        let wire = Wire(owning: session)
        guard wire.enterPipeline() else { return .failure(PostgresError(.unreachable, wire.message)) }
        return .success(wire)
    }

    private func begin() -> OpaquePointer? {
        let pairs = self.string.keywords(application: self.application)
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

    private static func wait(for step: PostgresPollingStatusType, on socket: CInt, until deadline: MonotonicInstant)
        -> Bool
    {
        let events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT
        while true {
            let left = (deadline - .now).nanoseconds
            if left <= 0 { return false }
            var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
            let result = poll(&descriptor, 1, CInt(clamping: left / 1_000_000 + 1))
            if result > 0 { return true }
            if result < 0 && errno != EINTR { return true }  // libpq will say what is wrong with the socket
        }
    }
}

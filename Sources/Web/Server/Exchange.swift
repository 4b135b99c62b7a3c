import CarillonCMicroHTTP
import CarillonIO

/// A request and its response.
///
/// `@unchecked`, because only libmicrohttpd's thread touches the body, its size and the refusals, and the lock guards the rest.
/// Other threads use the connection only to resume it, under that lock and while it is suspended, so libmicrohttpd cannot free it.
/// They get the exchange only after libmicrohttpd's thread has suspended the connection: see `ExchangeTable.handle`.
final class Exchange: @unchecked Sendable {
    private enum State {
        case reading
        case handling(Task<Void, Never>?)
        case answered(Response)
        case sending
    }

    private let connection: OpaquePointer
    private let state = Guarded(State.reading)
    private(set) var body: [UInt8] = []
    /// The response if the request was refused for its headers; the body is then discarded.
    let refusal: Response?
    /// Why the body was refused while it arrived.
    private(set) var bodyRefusal: HTTPRefusal?
    private(set) var received = 0

    init(_ connection: OpaquePointer, refusal: Response?) {
        self.connection = connection
        self.refusal = refusal
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        received += bytes.count
        if isAccepted { body.append(contentsOf: bytes) }
    }

    var isAccepted: Bool { refusal == nil && bodyRefusal == nil }

    func refuseBody(_ refusal: HTTPRefusal) {
        bodyRefusal = refusal
        body = []
    }

    /// The response, once there is one. It is handed over once: libmicrohttpd copies its bytes.
    func takeResponse() -> Response? {
        state.withLock { state in
            guard case .answered(let response) = state else { return nil }
            state = .sending
            return response
        }
    }

    /// Whether the body may still arrive.
    var isReading: Bool {
        state.withLock { state in
            if case .reading = state { true } else { false }
        }
    }

    /// Suspends the connection until `answer`, which must not be possible before this returns.
    func suspend() {
        state.withLock { $0 = .handling(nil) }
        MHD_suspend_connection(connection)
    }

    /// Records the task that will answer. It is cancelled if the server stops first, or at once if the server has already stopped.
    func isHandled(by task: Task<Void, Never>) {
        let isTooLate = state.withLock { state in
            guard case .handling = state else { return true }
            state = .handling(task)
            return false
        }
        if isTooLate { task.cancel() }
    }

    /// Resumes the connection with a response. Only the first response counts. When this returns, the connection is not
    /// suspended: libmicrohttpd aborts the process if it is stopped while a connection is suspended.
    func answer(_ response: Response) {
        let task: Task<Void, Never>? = state.withLock { state in
            guard case .handling(let task) = state else { return nil }
            state = .answered(response)
            MHD_resume_connection(connection)
            return task
        }
        task?.cancel()
    }
}

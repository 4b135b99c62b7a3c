import CMicroHTTP
import Synchronization

/// One request on its way in, and its response on its way out.
///
/// `@unchecked`, because only libmicrohttpd's thread touches `body`, and the lock guards the rest. Other threads use the
/// connection only to resume it, under that lock and while it is suspended, when libmicrohttpd cannot free it.
final class Exchange: @unchecked Sendable {
    private enum State {
        case reading
        case handling(Task<Void, Never>?)
        case answered(Response)
    }

    private let connection: OpaquePointer
    private let state = Mutex(State.reading)
    private(set) var body: [UInt8] = []

    init(_ connection: OpaquePointer) {
        self.connection = connection
    }

    /// False: more than is allowed.
    func append(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard self.body.count + bytes.count <= limit else { return false }
        self.body.append(contentsOf: bytes)
        return true
    }

    /// The response, when there is one.
    var response: Response? {
        self.state.withLock { state in
            if case .answered(let response) = state { response } else { nil }
        }
    }

    /// Puts the connection to rest until `answer`.
    func suspend() {
        self.state.withLock { $0 = .handling(nil) }
        MHD_suspend_connection(self.connection)
    }

    /// The task that will answer, to be cancelled when the server stops before it does. The server may have stopped
    /// before the task had a name; then it is cancelled now.
    func isHandled(by task: Task<Void, Never>) {
        let isTooLate = self.state.withLock { state in
            guard case .handling = state else { return true }
            state = .handling(task)
            return false
        }
        if isTooLate { task.cancel() }
    }

    /// Wakes the connection with a response. Only the first counts. When this returns the connection is awake, whoever
    /// has answered: libmicrohttpd ends the process if it is stopped while a connection sleeps.
    func answer(_ response: Response) {
        let task: Task<Void, Never>? = self.state.withLock { state in
            guard case .handling(let task) = state else { return nil }
            state = .answered(response)
            MHD_resume_connection(self.connection)
            return task
        }
        task?.cancel()
    }
}

/// One request to the server, and what has come back so far.
struct PostgresRequest {
    enum Work: Sendable {
        /// The first request of a session, which changes nothing.
        case greeting(String, Parameters)
        case statement(Statement, Parameters)
        case script(String)
        /// A `COPY … FROM STDIN` and its input.
        case copy(String, [UInt8])

        var kind: Pipeline<PostgresRequest>.Kind {
            switch self {
            case .greeting, .statement: .statement
            case .script, .copy: .script
            }
        }

        var name: String? {
            if case .statement(let statement, _) = self { statement.name } else { nil }
        }
    }

    typealias Completion = Swift::Result<ServerResult, PostgresError>

    let work: Work
    let continuation: CheckedContinuation<Completion, Never>
    /// How many results precede its own, from preparing it or from the settings sent with it.
    var preludes = 0
    /// The statement's name on the server, if it is prepared.
    var nameOnServer: String?
    private var result: ServerResult?
    private var error: PostgresError?

    init(_ work: Work, _ continuation: CheckedContinuation<Completion, Never>) {
        self.work = work
        self.continuation = continuation
    }

    mutating func succeeded(_ result: ServerResult) {
        if preludes > 0 { preludes -= 1 } else { self.result = result }
    }

    /// Only the first failure counts; others are its consequences.
    mutating func failed(_ error: PostgresError) {
        guard self.error == nil else { return }
        var error = error
        error.statement = work.name
        self.error = error
    }

    /// The server has reached the synchronization point. Only now is the statement committed; its results came earlier.
    func complete() {
        if error == nil, let result { return continuation.resume(returning: .success(result)) }
        let error = error ?? PostgresError(.server, "the server gave no result", statement: work.name)
        continuation.resume(returning: .failure(error))
    }

    /// The connection broke before the synchronization point. An error that ended only the statement stands: the statement is
    /// rolled back.
    func completeAsLost(_ reason: PostgresError) {
        if let error, error.effect == .nothingDone { return continuation.resume(returning: .failure(error)) }
        let cause = self.error?.message ?? reason.message
        var loss: PostgresError
        if case .greeting = work {
            // A pooler connects to the server only at this point, and reports here why it cannot.
            loss = PostgresError(.closed, cause, sqlState: self.error?.sqlState, hint: self.error?.hint ?? reason.hint)
        } else {
            loss = PostgresError(
                .closed,
                cause + "; whether the statement was carried out is unknown",
                effect: .unknown,
                sqlState: self.error?.sqlState,
                hint: self.error?.hint ?? reason.hint,
                statement: work.name
            )
        }
        loss.isOwnFault = reason.isOwnFault
        loss.isSilence = reason.isSilence
        continuation.resume(returning: .failure(loss))
    }
}

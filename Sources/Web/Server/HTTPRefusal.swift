/// A request that reaches no handler, and why.
package struct HTTPRefusal: Sendable {
    package enum Cause: Sendable {
        /// Its address is not valid percent-encoded UTF-8, it can be read in two ways, or its head is costly to compare.
        case malformed
        case unknownPath
        case wrongMethod
        case tooLarge
        /// Too many large bodies are arriving.
        case crowded
        /// The server is stopping, and the handler was not called.
        case stopping
        /// The server is stopping, and did not wait for the handler.
        case interrupted
    }

    package typealias Writing = @Sendable (HTTPRefusal, Request) -> Response

    package let cause: Cause
    package let status: Int
    /// A sentence.
    package let detail: String
    private let headers: [(name: String, value: String)]

    private init(_ cause: Cause, _ status: Int, _ detail: String, headers: [(name: String, value: String)] = []) {
        self.cause = cause
        self.status = status
        self.detail = detail
        self.headers = headers
    }

    static let malformed = HTTPRefusal(
        .malformed,
        400,
        "The address is not valid percent-encoded UTF-8, or has more than 128 combining characters in a row."
    )
    static let costly = HTTPRefusal(
        .malformed,
        400,
        "The head of the request has more than 128 combining characters in a row.",
        headers: [("Connection", "close")]
    )
    /// A proxy may read the request in one way and this server in another, so the rest could smuggle in a request that no proxy has
    /// seen.
    static let ambiguous = HTTPRefusal(
        .malformed,
        400,
        "The request can be read in two ways: it has two lengths, no Host or two, a folded header, a line without CR LF at its "
            + "end, an encoding other than chunked, a header without a name or with a space in it, a control character, or an "
            + "address or a method with other bytes than visible ASCII.",
        headers: [("Connection", "close")]
    )
    static let unknownPath = HTTPRefusal(.unknownPath, 404, "There is nothing at this path.")
    static let crowded = HTTPRefusal(
        .crowded,
        503,
        "Too many large bodies arrive at once. None of this one was used: send it again.",
        headers: [("Retry-After", "1")]
    )
    static let stopping = HTTPRefusal(.stopping, 503, "This server is stopping.")
    static let interrupted = HTTPRefusal(.interrupted, 503, "This server is stopping.")

    static func tooLarge(limit bytes: Int) -> HTTPRefusal {
        HTTPRefusal(.tooLarge, 413, "The body has more than \(bytes) bytes. None of it was used.")
    }

    /// - Parameter methods: the methods that the path accepts, as a list.
    static func wrongMethod(allowed methods: String) -> HTTPRefusal {
        HTTPRefusal(.wrongMethod, 405, "This path takes \(methods).", headers: [("Allow", methods)])
    }

    /// The refusal as plain text.
    package var response: Response { completed(Response(text: detail + "\n", status: status)) }

    /// Adds the headers that belong to the refusal to any form of its response.
    package func completed(_ response: Response) -> Response {
        headers.reduce(response) { $0.adding($1.name, $1.value) }
    }
}

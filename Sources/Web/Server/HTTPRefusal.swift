/// A request that reaches no handler, and why.
package struct HTTPRefusal: Sendable {
    package enum Cause: Sendable {
        /// Its address or its head is not valid, too long or costly to compare, or can be read in two ways.
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
    /// What to do: a sentence.
    package let hint: String
    private let headers: [(name: String, value: String)]

    private init(
        _ cause: Cause,
        _ status: Int,
        _ detail: String,
        hint: String,
        headers: [(name: String, value: String)] = []
    ) {
        self.cause = cause
        self.status = status
        self.detail = detail
        self.hint = hint
        self.headers = headers
    }

    static let malformed = HTTPRefusal(
        .malformed,
        400,
        "The address is not valid percent-encoded UTF-8, or has more than 128 combining characters in a row.",
        hint: "Percent-encode each part of it."
    )
    static let costly = HTTPRefusal(
        .malformed,
        400,
        "The head of the request has more than 128 combining characters in a row.",
        hint: "Leave them out.",
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
        hint: "Send it as RFC 9112 requires.",
        headers: [("Connection", "close")]
    )
    static let manyParameters = HTTPRefusal(
        .malformed,
        400,
        "The address has more than \(FormFields.maxFields) parameters.",
        hint: "Send only those that this path takes, each once."
    )
    static let unknownPath = HTTPRefusal(
        .unknownPath,
        404,
        "There is nothing at this path.",
        hint: "The page docs/http.md lists all paths."
    )
    static let crowded = HTTPRefusal(
        .crowded,
        503,
        "Too many large bodies arrive at once. None of this one was used.",
        hint: "Send it again.",
        headers: [("Retry-After", "1")]
    )
    static let stopping = HTTPRefusal(
        .stopping,
        503,
        "This server is stopping. Nothing was done.",
        hint: "Send the request again."
    )
    static let interrupted = HTTPRefusal(
        .interrupted,
        503,
        "This server is stopping. What the request was to do may have been done.",
        hint: "Find out before you send it again."
    )

    static func tooLarge(limit bytes: Int) -> HTTPRefusal {
        HTTPRefusal(
            .tooLarge,
            413,
            "The body has more than \(bytes) bytes. None of it was used.",
            hint: "Send less in each request."
        )
    }

    static func longTarget(limit bytes: Int) -> HTTPRefusal {
        HTTPRefusal(
            .malformed,
            414,
            "The address has more than \(bytes) bytes.",
            hint: "Send shorter parameters."
        )
    }

    static func longHead(limit bytes: Int) -> HTTPRefusal {
        HTTPRefusal(
            .malformed,
            431,
            "The request line and all headers have more than \(bytes) bytes. Cookies count twice, and each header, cookie and "
                + "parameter as 64 bytes more.",
            hint: "Send fewer of them, or shorter ones."
        )
    }

    /// - Parameter methods: the methods that the path accepts, as a list.
    static func wrongMethod(allowed methods: String) -> HTTPRefusal {
        HTTPRefusal(
            .wrongMethod,
            405,
            "This path takes \(methods).",
            hint: "Send the request with one of these methods.",
            headers: [("Allow", methods)]
        )
    }

    package var text: String { "\(detail) \(hint)" }

    /// The refusal as plain text.
    package var response: Response { completed(Response(text: text + "\n", status: status)) }

    /// Adds the headers that belong to the refusal to any form of its response.
    package func completed(_ response: Response) -> Response {
        headers.reduce(response) { $0.adding($1.name, $1.value) }
    }
}

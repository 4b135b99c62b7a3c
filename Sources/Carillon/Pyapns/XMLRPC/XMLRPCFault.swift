/// The fault that a client receives if its call fails.
struct XMLRPCFault: Error, Equatable {
    /// The codes that pyapns answers with. Its clients know 404, 401 and 500.
    enum Code: Int, Sendable {
        case unknownApp = 404
        case badEnvironment = 401
        case unavailable = 500
        case unknownMethod = 8001
        /// The call is malformed or refused, so there is no point in repeating it.
        case refused = 8002
    }

    /// A text may quote what the client sent.
    private static let longestText = 2000

    let code: Code
    let text: String

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text.utf8.count <= Self.longestText ? text : text.prefix(Self.longestText) + "…"
    }
}

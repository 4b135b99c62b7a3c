/// A row as any app may INSERT it by itself, where nothing is checked, and what has to become of it.
struct OddRow: Sendable {
    enum End: Equatable, Sendable {
        case sent
        /// Here, for a reason of our own: the gateway has seen nothing of it.
        case refused(String)
        /// By the gateway, as in "400 BadPriority".
        case rejected(String)
        /// Never sent.
        case expired
    }

    /// SQL for the columns that are not as those of any other row.
    let columns: [(name: String, value: String)]
    let end: End
    /// The tokens that it comes to, each once, as the gateway or `failures` has them; nil: one like any other.
    let tokens: [String]?
    /// What the gateway gets, byte for byte; nil: one like any other.
    let payload: String?

    init(_ column: String, _ value: String, _ end: End, tokens: [String]? = nil, payload: String? = nil) {
        self.init([(column, value)], end, tokens: tokens, payload: payload)
    }

    init(_ columns: [(name: String, value: String)], _ end: End, tokens: [String]? = nil, payload: String? = nil) {
        self.columns = columns
        self.end = end
        self.tokens = tokens
        self.payload = payload
    }

    /// With that payload.
    init(payload: String, _ end: End, _ more: [(name: String, value: String)] = []) {
        self.init([("payload", Self.quoted(payload))] + more, end, payload: payload)
    }

    static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    var localReason: String? { if case .refused(let reason) = end { reason } else { nil } }
}

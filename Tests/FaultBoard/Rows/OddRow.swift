/// A row of a plain, unchecked INSERT, and its expected result.
struct OddRow: Sendable {
    enum End: Equatable, Sendable {
        case sent
        /// Refused by Carillon with a reason of its own: the gateway has received nothing.
        case refused(String)
        /// Refused by the gateway, as in "400 BadPriority".
        case rejected(String)
        /// Never sent.
        case expired
    }

    /// SQL for the unusual columns.
    let columns: [(name: String, value: String)]
    let end: End
    /// Its device tokens, each once, as in the gateway or in `failures`; nil: an ordinary one.
    let tokens: [String]?
    /// The payload at the gateway, byte for byte; nil: an ordinary one.
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

/// The responses that take much memory until their clients have read them: few bytes at once, so that clients that do not read cannot
/// fill memory. Only libmicrohttpd's thread uses it.
struct LargeResponses {
    /// A smaller response always has room: 2 MB for all connections together.
    static let smallest = 8 * 1024

    private let limit: Int
    /// In the order in which they were begun.
    private var responses: [(connection: ConnectionTable.ID, bytes: Int)] = []

    /// - Parameter limit: The bytes of all large responses together, unless there is only one.
    init(limit: Int) { self.limit = limit }

    /// Returns the connections to close, so that this response has room: those that have been sending for longest.
    mutating func began(on connection: ConnectionTable.ID, _ count: Int) -> [ConnectionTable.ID] {
        guard count > Self.smallest else { return [] }
        responses.append((connection, count))
        var closing: [ConnectionTable.ID] = []
        while responses.count > 1, responses.reduce(0, { $0 + $1.bytes }) > limit {
            closing.append(responses.removeFirst().connection)
        }
        return closing
    }

    /// The response was sent, or its connection is lost.
    mutating func ended(on connection: ConnectionTable.ID) { responses.removeAll { $0.connection == connection } }
}

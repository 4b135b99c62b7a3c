/// The bodies that may take much memory: few bytes at once, so that clients cannot fill memory before anybody knows who they are.
/// Only libmicrohttpd's thread uses it.
struct LargeBodies {
    /// A smaller body always has room: 2 MB for all connections together.
    static let smallest = 8 * 1024

    private let limit: Int
    /// In the order in which they became large.
    private var exchanges: [Exchange] = []

    /// - Parameter limit: The bytes of all large bodies together.
    init(limit: Int) { self.limit = limit }

    /// Makes room for a body that has grown: the one that has been arriving for longest has to give way. False if all others are
    /// complete and being handled.
    mutating func admit(_ exchange: Exchange, refusing refusal: Response) -> Bool {
        if !exchanges.contains(where: { $0 === exchange }) { exchanges.append(exchange) }
        while exchanges.reduce(0, { $0 + $1.received }) > limit {
            guard let slowest = exchanges.firstIndex(where: { $0 !== exchange && $0.isReading }) else {
                remove(exchange)
                return false
            }
            exchanges.remove(at: slowest).refuse(refusal)
        }
        return true
    }

    mutating func remove(_ exchange: Exchange) { exchanges.removeAll { $0 === exchange } }
}

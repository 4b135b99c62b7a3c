/// The bodies that may take much memory: a few at once, so that clients cannot fill memory before anybody knows who they are. Only
/// libmicrohttpd's thread uses it.
struct LargeBodies {
    /// A smaller body always has room: 4 MB for all connections together.
    static let smallest = 16 * 1024

    private let limit: Int
    /// In the order in which they became large.
    private var exchanges: [Exchange] = []

    init(limit: Int) { self.limit = limit }

    /// Makes room for a body that has become large: the one that has been arriving for longest has to give way. False if all of them
    /// are complete and being handled.
    mutating func admit(_ exchange: Exchange, refusing refusal: Response) -> Bool {
        guard !exchanges.contains(where: { $0 === exchange }) else { return true }
        if exchanges.count >= limit {
            guard let slowest = exchanges.firstIndex(where: \.isReading) else { return false }
            exchanges.remove(at: slowest).refuse(refusal)
        }
        exchanges.append(exchange)
        return true
    }

    mutating func remove(_ exchange: Exchange) { exchanges.removeAll { $0 === exchange } }
}

/// The bodies that may take much memory: few bytes at once, so that clients cannot fill memory before anybody knows who they are.
/// Only libmicrohttpd's thread uses it.
struct LargeBodies {
    /// A smaller body always has room: 2 MB for all connections together.
    static let smallest = 8 * 1024

    private let limit: Int
    /// In the order in which they became large.
    private var exchanges: [Exchange] = []
    private var bytes = 0

    /// - Parameter limit: The bytes of all large bodies together.
    init(limit: Int) { self.limit = limit }

    /// Makes room for a body that has grown: the one that has been arriving for longest is refused. If all others are complete and
    /// being handled, this one is.
    mutating func grew(_ exchange: Exchange, by count: Int) {
        let size = exchange.body.count
        guard size > Self.smallest else { return }
        if size - count > Self.smallest {
            bytes += count
        } else {
            exchanges.append(exchange)
            bytes += size
        }
        while bytes > limit, exchange.isAccepted {
            let refused = exchanges.first { $0 !== exchange && $0.isReading } ?? exchange
            remove(refused)
            refused.refuseBody(.crowded)
        }
    }

    mutating func remove(_ exchange: Exchange) {
        guard exchange.body.count > Self.smallest, let index = exchanges.firstIndex(where: { $0 === exchange }) else {
            return
        }
        exchanges.remove(at: index)
        bytes -= exchange.body.count
    }
}

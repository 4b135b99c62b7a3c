import CarillonIO

/// Whether a server has stopped answering, although its kernel still acknowledges what is sent: a frozen process, proxy or
/// pooler.
///
/// A statement that waits for a lock receives nothing either. But then the other connection of the worker is answered, or a
/// probe on it is. Looks are counted, not time: a worker that was itself suspended has read nothing meanwhile.
struct SilenceWatch {
    enum Step {
        case wait
        /// Ask something on a connection where no statement waits.
        case probe
        case leave
    }

    /// How many looks make the time after which a server is left.
    static let looks = 10

    /// That time while the worker works: about one lease.
    static func limit(lease: Duration) -> Duration { min(max(lease, .seconds(5)), .seconds(15)) }
    /// That time for a worker that has not begun, if it can try another host.
    static let limitAtStart = Duration.seconds(3)

    private var arrivals = 0
    private var silentLooks = 0

    /// - Parameters:
    ///   - arrivals: A number that has grown if something came from the server.
    ///   - isWaiting: A statement waits for an answer.
    mutating func looked(arrivals: Int, isWaiting: Bool) -> Step {
        guard isWaiting, arrivals == self.arrivals else {
            (self.arrivals, silentLooks) = (arrivals, 0)
            return .wait
        }
        silentLooks += 1
        if silentLooks >= Self.looks { return .leave }
        return silentLooks * 3 >= Self.looks ? .probe : .wait
    }
}

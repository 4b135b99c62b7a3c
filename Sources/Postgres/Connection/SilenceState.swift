/// Whether a server has stopped answering, although its kernel still acknowledges what is sent: a frozen process, proxy or
/// pooler.
///
/// A statement that waits for a lock receives nothing either. But then another connection to the same host is answered, as a probe
/// shows. Looks are counted, not time: a program that was itself suspended has read nothing meanwhile.
package struct SilenceState {
    package enum Step {
        case wait
        /// Ask the host for a sign of life on a connection where no statement waits.
        case probe
        case leave
    }

    /// How many looks make the time after which a server is left.
    package static let looks = 10

    private var arrivals = 0
    private var silentLooks = 0

    package init() {}

    /// - Parameters:
    ///   - arrivals: A number that has grown if something came from the server.
    ///   - isWaiting: A statement waits for an answer.
    package mutating func looked(arrivals: Int, isWaiting: Bool) -> Step {
        guard isWaiting, arrivals == self.arrivals else {
            (self.arrivals, silentLooks) = (arrivals, 0)
            return .wait
        }
        silentLooks += 1
        if silentLooks >= Self.looks { return .leave }
        return silentLooks * 3 >= Self.looks ? .probe : .wait
    }
}

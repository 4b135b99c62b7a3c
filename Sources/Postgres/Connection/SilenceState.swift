/// Whether a server has stopped answering, although its kernel still acknowledges what is sent: a frozen process, proxy or
/// pooler.
///
/// A statement that waits for a lock receives nothing either. But then another connection to the same host is answered, as a probe
/// shows. Observations are counted, not time: a program that was itself suspended has read nothing meanwhile.
package struct SilenceState {
    package enum Step {
        case wait
        /// Ask the host for a sign of life on a connection where no statement waits.
        case probe
        case leave
    }

    /// After how many observations without an arrival a server is left.
    package static let observations = 10

    private var arrivals = 0
    /// In a row, while a statement waited.
    private(set) var silentObservations = 0

    package init() {}

    /// - Parameters:
    ///   - arrivals: A number that has grown if something came from the server.
    ///   - isWaiting: A statement waits for an answer.
    package mutating func observed(arrivals: Int, isWaiting: Bool) -> Step {
        guard isWaiting, arrivals == self.arrivals else {
            (self.arrivals, silentObservations) = (arrivals, 0)
            return .wait
        }
        silentObservations += 1
        if silentObservations >= Self.observations { return .leave }
        return silentObservations * 3 >= Self.observations ? .probe : .wait
    }
}

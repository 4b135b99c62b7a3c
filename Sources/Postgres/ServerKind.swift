/// Which of the hosts that a connection string names will do.
package enum ServerKind: Sendable {
    /// The first that answers.
    case any
    /// The first that takes writes: not a standby, as all but one of them may be after a fail-over. A session whose server
    /// stops taking writes is ended, so that its owner looks for another.
    case writable
}

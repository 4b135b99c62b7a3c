/// Which of the hosts of a connection string may be used.
package enum ServerKind: Sendable {
    /// The first host that answers.
    case any
    /// The first host that accepts writes, so not a standby. If the server stops accepting writes, the session is ended so that its
    /// owner connects to another host.
    case writable
}

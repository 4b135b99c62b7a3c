import CarillonCPostgres

/// Which of the hosts of a connection string may be used.
package enum ServerKind: Sendable {
    /// The first that answers.
    case any
    /// The first that accepts writes, so not a standby. A session whose server stops accepting writes is ended, so that its
    /// owner connects to another.
    case writable
}

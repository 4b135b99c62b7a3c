/// What came of reading without waiting.
package enum ReadResult: Equatable, Sendable {
    /// So many bytes were read, at least one.
    case bytes(Int)
    /// Nothing to read yet: wait until the descriptor is readable.
    case wantsRead
    /// Only TLS says so: it must write first, so wait until the descriptor is writable and read again.
    case wantsWrite
    /// The peer has said that nothing more will come.
    case closed
}

/// What came of writing without waiting.
package enum WriteResult: Equatable, Sendable {
    /// So many bytes were taken, perhaps fewer than offered.
    case bytes(Int)
    /// Only TLS says so: it must read first, so wait until the descriptor is readable and write again.
    case wantsRead
    /// No room: wait until the descriptor is writable.
    case wantsWrite
}

/// The result of reading without waiting.
package enum ReadResult: Equatable, Sendable {
    /// At least one byte was read.
    case bytes(Int)
    /// Nothing yet: wait until the descriptor is readable.
    case wantsRead
    /// Only from TLS, which must write first: wait until the descriptor is writable and read again.
    case wantsWrite
    /// The peer has ended its sending side.
    case closed
}

/// The result of writing without waiting.
package enum WriteResult: Equatable, Sendable {
    /// The bytes taken, perhaps fewer than offered.
    case bytes(Int)
    /// Only from TLS, which must read first: wait until the descriptor is readable and write again.
    case wantsRead
    /// No room: wait until the descriptor is writable.
    case wantsWrite
}

/// The result of a non-blocking read.
package enum ReadResult: Equatable, Sendable {
    /// At least one byte was read.
    case bytes(Int)
    /// No bytes yet: wait until the descriptor is readable.
    case wantsRead
    /// Only from TLS, which must write first: wait until the descriptor is writable and read again.
    case wantsWrite
    /// The peer has ended its sending side.
    case closed
}

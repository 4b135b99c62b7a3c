/// The result of a non-blocking write.
package enum WriteResult: Equatable, Sendable {
    /// The number of bytes taken, which may be fewer than offered.
    case bytes(Int)
    /// Only from TLS, which must read first: wait until the descriptor is readable and write again.
    case wantsRead
    /// No room: wait until the descriptor is writable.
    case wantsWrite
}

/// The result of writing without waiting.
package enum WriteResult: Equatable, Sendable {
    /// The bytes taken, perhaps fewer than offered.
    case bytes(Int)
    /// Only from TLS, which must read first: wait until the descriptor is readable and write again.
    case wantsRead
    /// No room: wait until the descriptor is writable.
    case wantsWrite
}

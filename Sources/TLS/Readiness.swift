/// How far a handshake is.
package enum Readiness: Equatable, Sendable {
    case done
    /// Go on when the descriptor is readable.
    case wantsRead
    /// Go on when the descriptor is writable.
    case wantsWrite
}

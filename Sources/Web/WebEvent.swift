/// What a server does to protect itself, for logs. Reported on libmicrohttpd's thread.
package enum WebEvent: Sendable {
    /// The connection that had been idle longest was closed, because the limit was nearly reached.
    case idleConnectionClosed
    /// No further client is accepted until one of the requests under way has been answered.
    case allConnectionsBusy
    case bodyRefused
}

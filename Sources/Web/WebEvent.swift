/// What a server does to protect itself, for logs. Reported on libmicrohttpd's thread.
package enum WebEvent: Sendable {
    /// Nearly as many connections are open as are allowed: the one that was idle longest was closed.
    case idleConnectionClosed
    /// No further client is accepted until one of the requests under way is answered.
    case allConnectionsBusy
    case bodyRefused
}

/// Where sending begins: it keeps connections warm between messages.
///
/// ```swift
/// let session = Session()
/// let connection = session.connection(to: .production, credential: try Credential(certificate: pem))
/// let result = try await APNs(connection).send(message)
/// ```
public final class Session: Sendable {
    private let backend: any Backend

    /// A session over HTTP/2, or over another backend.
    public init(backend: any Backend = HTTP2Backend()) { self.backend = backend }

    /// A way to that gateway. Nothing is connected before the first push; everything that is sent with one credential
    /// to one gateway shares the same warm connections, whichever `Connection` value it goes through.
    public func connection(to gateway: Gateway, credential: Credential) -> Connection {
        Connection(backend: backend, gateway: gateway, credential: credential, isSingleUse: false)
    }

    /// A way to that gateway whose connections are its own, and are closed as soon as they were used.
    public func newConnection(to gateway: Gateway, credential: Credential) -> Connection {
        Connection(backend: backend, gateway: gateway, credential: credential, isSingleUse: true)
    }

    /// Closes the connections that have been idle for longer than that, never one in use.
    public func outdate(_ idle: Duration) async { await backend.outdate(idle: idle) }

    /// Closes the connections of a credential that was replaced as soon as what is in flight on them has ended.
    public func outdate(credential: Credential) async { await backend.outdate(credential: credential) }

    /// Closes every connection. What is still on its way ends at once, and nothing is sent afterwards.
    public func shutdown() async { await backend.shutdown() }
}

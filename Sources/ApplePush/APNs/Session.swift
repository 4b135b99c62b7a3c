extension APNs {
    /// Keeps connections open between messages.
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

        /// A connection to this gateway. It opens with the first push. All pushes to the same gateway with the same credential
        /// share sockets, whichever `Connection` value sends them.
        public func connection(to gateway: Gateway, credential: Credential) -> Connection {
            Connection(backend: backend, gateway: gateway, credential: credential, isSingleUse: false)
        }

        /// A connection to this gateway with its own sockets, which close after each use.
        public func newConnection(to gateway: Gateway, credential: Credential) -> Connection {
            Connection(backend: backend, gateway: gateway, credential: credential, isSingleUse: true)
        }

        /// Closes connections that have been idle for longer than this.
        public func outdate(_ idle: Duration) async { await backend.outdate(idle: idle) }

        /// Closes the connections of a replaced credential as soon as the pushes in flight on them have ended.
        public func outdate(credential: Credential) async { await backend.outdate(credential: credential) }

        /// Closes every connection. Pushes that have not ended end at once, and nothing is sent afterwards.
        public func shutdown() async { await backend.shutdown() }
    }
}

extension APNs {
    /// Lends a session, and shuts it down when the closure has returned or thrown.
    ///
    /// ```swift
    /// try await APNs.withSession { session in
    ///     try await APNs(session.connection(to: .production, credential: credential)).send(message)
    /// }
    /// ```
    public static func withSession<Value, Failure: Error>(
        backend: any Backend = HTTP2Backend(),
        _ body: (Session) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let session = Session(backend: backend)
        do {
            let value = try await body(session)
            await session.shutdown()
            return value
        } catch {
            await session.shutdown()
            throw error
        }
    }
}

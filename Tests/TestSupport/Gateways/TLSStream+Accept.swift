package import CarillonIO
package import CarillonTLS

extension TLSStream {
    /// Performs the server's side of the handshake on an accepted connection, waiting on the loop.
    package static func accept(
        _ socket: consuming Socket,
        context: TLSContext,
        timeout: Duration,
        on loop: EventLoop
    ) async throws(TLSError) -> TLSStream {
        var stream = try TLSStream(server: context, socket: socket)
        try await stream.shakeHands(until: .now + timeout, on: loop)
        return stream
    }
}

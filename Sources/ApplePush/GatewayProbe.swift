package import CarillonIO
import CarillonTLS

/// Checks, without sending a push, whether a gateway can be reached and trusted: TCP, TLS with the credential's certificate and, if
/// the gateway should speak it, HTTP/2.
package enum GatewayProbe {
    private static let timeout = Duration.seconds(5)

    /// Returns how long the check took. A server may still refuse the certificate afterwards.
    package static func run(
        _ gateway: Gateway,
        with credential: Credential,
        on loop: EventLoop
    ) async throws(PushError) -> Duration {
        let start = MonotonicInstant.now
        do {
            var stream = try await TLSStream.connect(
                host: gateway.host,
                port: gateway.port,
                context: gateway.tlsContext(with: credential, requiresHTTP2: gateway.transport == .http2),
                connectTimeout: timeout,
                handshakeTimeout: timeout,
                on: loop
            )
            let `protocol` = stream.alpn
            stream.closeNotify()
            switch gateway.transport {
            case .http2 where `protocol` != "h2":
                throw PushError(.notHTTP2, "The server at \(gateway) does not offer HTTP/2.")
            case .binary where LegacyProtocols.isHTTP2(`protocol`): throw LegacyProtocols.notBinary(gateway)
            case .http2, .binary: break
            }
        } catch {
            throw PushError(connectingTo: gateway, error)
        }
        return MonotonicInstant.now - start
    }
}

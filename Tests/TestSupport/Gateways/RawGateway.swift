import CarillonIO
import CarillonTLS
import Glibc

/// A TLS server whose script sends any bytes: for peers that break the rules of HTTP/2, or keep them in ways that no
/// library offers.
package struct RawGateway: Sendable {
    package typealias Script = @Sendable (inout RawLine) async throws -> Void

    /// The certificate, in PEM, of the authority that clients must trust.
    package let rootPEM: String
    private let reception: Reception

    /// How many connections were accepted.
    package var connections: Int { reception.connections }

    /// Runs a test with a gateway on 127.0.0.1. The script runs for each connection, which ends with it.
    /// - Parameter certificate: nil: a good one.
    package static func with<R>(
        certificate: ServerCertificate? = nil,
        alpn: [String] = ["h2"],
        _ script: @escaping Script,
        test: (RawGateway, UInt16) async throws -> R
    ) async throws -> R {
        let certificate = try certificate ?? ServerCertificate()
        let context = try certificate.context(alpn: alpn)
        return try await TestLoop.with { loop in
            try await Reception.with(on: loop) { number, descriptor in
                // Limits what the kernel receives for a test that does not read: by default up to 32 MB.
                var room: CInt = 65_536
                setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<CInt>.size))
                let stream = try await TLSStream.accept(
                    Socket(owning: descriptor),
                    context: context,
                    timeout: .seconds(60),
                    on: loop
                )
                var line = RawLine(number, stream, on: loop)
                try await script(&line)
            } test: { reception, port in
                try await test(RawGateway(rootPEM: certificate.rootPEM, reception: reception), port)
            }
        }
    }
}

import CarillonTLS

/// A server that accepts pushes: its address, and the authorities that its certificate is checked against.
public struct Gateway: Hashable, Sendable, CustomStringConvertible {
    /// The authorities that a server's certificate is checked against.
    public enum Trust: Hashable, Sendable {
        /// The authorities that the system trusts.
        case system
        /// Only the authorities in this PEM text.
        case pem(String)
    }

    /// The protocol that a server speaks.
    public enum Transport: Sendable {
        /// HTTP/2, as Apple's gateways do.
        case http2
        /// The legacy binary protocol, as some private gateways do.
        case binary
    }

    /// The server's name, which must be in its certificate.
    public let host: String

    /// The server's port.
    public let port: UInt16

    /// The authorities that the server's certificate is checked against.
    public let trust: Trust

    /// The protocol that the server speaks. Only ``TransportBackend`` uses it.
    public let transport: Transport

    /// A gateway at that address.
    public init(host: String, port: UInt16, trust: Trust = .system, transport: Transport = .http2) {
        self.host = host
        self.port = port
        self.trust = trust
        self.transport = transport
    }

    /// A gateway at an address written `host:port`, with an IPv6 address in brackets.
    public init(_ address: String, trust: Trust = .system, transport: Transport = .http2) throws(PushError) {
        guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]),
            port > 0
        else { throw PushError(.invalidGateway, "“\(address)” is not a gateway: write host:port.") }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw PushError(.invalidGateway, "“\(address)” has no host: write host:port.") }
        self.init(host: String(host), port: port, trust: trust, transport: transport)
    }

    /// Apple's gateway for apps from the App Store, TestFlight and in-house distribution.
    public static let production = Self(host: "api.push.apple.com", port: 443)
    /// Apple's gateway for apps that were signed for development.
    public static let sandbox = Self(host: "api.sandbox.push.apple.com", port: 443)
    /// `production` on another port, which a firewall can treat apart from web traffic.
    public static let productionOnPort2197 = Self(host: "api.push.apple.com", port: 2197)
    /// `sandbox` on another port, which a firewall can treat apart from web traffic.
    public static let sandboxOnPort2197 = Self(host: "api.sandbox.push.apple.com", port: 2197)

    /// Apple's legacy feedback service for `production`.
    public static let feedback = Self(host: "feedback.push.apple.com", port: 2196)
    /// Apple's legacy feedback service for `sandbox`.
    public static let feedbackSandbox = Self(host: "feedback.sandbox.push.apple.com", port: 2196)

    /// Apple's channel service for `production`.
    public static let channels = Self(host: "api-manage-broadcast.push.apple.com", port: 2196)
    /// Apple's channel service for `sandbox`.
    public static let channelsSandbox = Self(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)

    /// The address as `host:port`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The address for the `:authority` field, without the default port of https.
    var authority: String { port == 443 ? String(description.dropLast(4)) : description }

    /// The client's side of TLS. It offers HTTP/2 to every server: see `LegacyProtocols`.
    ///
    /// - Parameter requiresHTTP2: Whether to refuse a server that does not choose it.
    func tlsContext(with credential: Credential, requiresHTTP2: Bool) throws(TLSError) -> TLSContext {
        try TLSContext.client(
            identity: credential.identity,
            trust: trust.roots,
            alpn: ["h2"],
            requiresProtocol: requiresHTTP2
        )
    }
}

extension Gateway.Trust {
    fileprivate var roots: CarillonTLS.Trust {
        switch self {
        case .system: .system
        case .pem(let text): .pem(text)
        }
    }
}

/// How a server of the binary protocol, or of the feedback service, is told from one of HTTP/2.
///
/// Both legacy protocols take silence for consent, so a busy HTTP/2 server would seem to accept pushes. Therefore HTTP/2 is
/// offered in the TLS handshake: only a server that speaks it chooses it, and does so before anything is sent.
enum LegacyProtocols {
    static let alpn = ["h2"]

    static func isHTTP2(_ chosen: String?) -> Bool { chosen == "h2" }

    static func notBinary(_ gateway: Gateway) -> PushError {
        PushError(
            .unreachable,
            "The server at \(gateway) speaks HTTP/2, not the binary protocol: send over HTTP/2, or name the port of its binary "
                + "gateway."
        )
    }

    static func hasNoList(_ gateway: Gateway) -> PushError {
        PushError(
            .unsupported,
            "The server at \(gateway) speaks HTTP/2 and has no list of dead tokens: they are in the feedback of each result. "
                + "Gateways with a list are Gateway.feedback, Gateway.feedbackSandbox, and your own with the legacy feedback "
                + "service."
        )
    }
}

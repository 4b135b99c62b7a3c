/// Distinguishes servers of the binary protocol and the feedback service from HTTP/2 servers.
///
/// Both legacy protocols treat silence as success, so a busy HTTP/2 server would seem to accept pushes. Therefore the client offers
/// HTTP/2 in the TLS handshake: only a server that speaks it selects it, before anything is sent.
enum LegacyProtocols {
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

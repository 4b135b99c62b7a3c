import HTTP2
import TLS

extension ConnectionEnd {
    /// What the protocol engine says of the peer.
    init(_ error: HTTP2Error) {
        self =
            switch error.code {
            case .limitExceeded: .flooded(error.message)
            case .streamsExhausted: .exhausted
            default: .violated(error.message)
            }
    }

    /// What happened to the socket. An alert may come long after the handshake: by it servers refuse certificates.
    init(_ error: TLSError) { self = error.isAboutCertificate ? .refused(error.message) : .broken(error.message) }

    /// What the peer is told when we end it.
    var errorCode: ErrorCode {
        switch self {
        case .flooded: .enhanceYourCalm
        case .settingsUnacknowledged: .settingsTimeout
        case .violated: .protocolError
        default: .noError
        }
    }
}

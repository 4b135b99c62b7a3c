import IO
import TLS

extension PushError {
    /// Why no connection to the gateway could be made.
    init(connectingTo gateway: Gateway, _ error: any Error) {
        if let error = error as? PushError {
            self = error
            return
        }
        let code: Code =
            switch (error as? TLSError)?.code {
            case .untrusted, .wrongHostName, .expired, .notYetValid: .untrusted
            case .rejected where (error as? TLSError)?.isAboutCertificate == true: .refused
            case .noProtocol, .notTLS: .notHTTP2
            // The credential's own texts were read before: what is wrong here is the gateway's trust root.
            case .malformedCertificate, .tooLong: .invalidGateway
            default: .unreachable
            }
        self.init(code, "There is no connection to \(gateway): \(error).", underlying: error)
    }

    /// Why a connection to the gateway ended that should not have.
    init(_ end: ConnectionEnd, of gateway: Gateway) {
        let (code, sentence): (Code, String) =
            switch end {
            case .unconnected(let error): (error.code, error.message)
            case .refused(let what) where Reason(name: what)?.action(status: 0) == .keepProviderToken:
                (.throttled, "wants no new provider token for a while: \(what)")
            case .refused(let what): (.refused, "refused the credential: \(what)")
            case .goneAway(let reason?): (.unreachable, "sent it away, giving as reason “\(reason)”")
            case .goneAway(nil): (.unreachable, "sent it away and gave no reason")
            case .closedByPeer: (.unreachable, "closed it")
            case .broken(let what): (.unreachable, "broke it: \(what)")
            case .violated(let what): (.notHTTP2, "broke the rules of HTTP/2: \(what)")
            case .flooded(let what): (.notHTTP2, "sent too much: \(what)")
            case .settingsMissing: (.notHTTP2, "did not begin to speak HTTP/2 in time")
            case .settingsUnacknowledged: (.notHTTP2, "did not acknowledge our settings in time")
            case .silent: (.unreachable, "answered nothing on it")
            case .stalled: (.unreachable, "took nothing that was written to it")
            case .starved: (.unreachable, "let nobody have a stream")
            case .windowClosed: (.unreachable, "opened no HTTP/2 window for the bodies of requests")
            case .idle, .spare, .aged, .exhausted, .shutDown, .usedUp:
                (.unreachable, "had not answered anything when it ended")
            }
        if case .unconnected(let error) = end {
            self = error
            return
        }
        self.init(code, "A connection was made to \(gateway), and the gateway \(sentence).")
    }
}

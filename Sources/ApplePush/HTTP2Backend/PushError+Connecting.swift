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
            case .rejected: .refused
            case .noProtocol, .notTLS: .notHTTP2
            case .malformedCertificate: .invalidGateway
            default: .unreachable
            }
        self.init(code, "There is no connection to \(gateway): \(error).", underlying: error)
    }

    /// Why a connection to the gateway ended that had not answered anything.
    init(_ end: ConnectionLife.End, of gateway: Gateway) {
        let (code, sentence): (Code, String) =
            switch end {
            case .goneAway(let reason?): (.refused, "sent it away, giving as reason “\(reason)”")
            case .goneAway(nil): (.unreachable, "sent it away and gave no reason")
            case .closedByPeer: (.unreachable, "closed it")
            case .refused(let what): (.refused, "refused the credential: \(what)")
            case .failed(let what): (.unreachable, "broke it: \(what)")
            case .settingsTimedOut: (.notHTTP2, "did not begin to speak HTTP/2 in time")
            case .silent: (.unreachable, "answered nothing on it")
            case .idle, .shutDown, .usedUp: (.unreachable, "had not answered anything when it ended")
            }
        self.init(code, "A connection was made to \(gateway), and the gateway \(sentence).")
    }
}

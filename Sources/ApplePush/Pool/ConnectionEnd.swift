import CarillonTLS

/// Why a connection accepts no more pushes. The first reason is kept; its consequences do not mask it.
///
/// Ends that occur on only one wire are defined with that wire.
struct ConnectionEnd: Error, Equatable {
    /// What an end means for the pool.
    enum Kind {
        /// The pool no longer needs the connection.
        case ours
        /// An answer said that the connection is used up. The gateway will probably answer on the next one.
        case usedUp
        /// The gateway closed the connection in an orderly way, and will probably answer on the next one.
        case goodbye
        /// The socket or TLS failed.
        case broken
        /// The gateway does not accept the credential, on any connection.
        case refused
        /// No connection could be opened.
        case unconnected
        /// The gateway violated its protocol or a time limit.
        case fault
        /// The gateway accepted no pushes for too long, however many it had answered.
        case starved
    }

    /// Its name in metrics.
    let name: String
    let kind: Kind
    private let code: PushError.Code
    /// The explanation, completing the sentence "The connection ended:".
    private let explanation: String
    private let failure: PushError?

    init(
        _ name: String,
        _ kind: Kind,
        _ explanation: String,
        code: PushError.Code = .unreachable,
        failure: PushError? = nil
    ) {
        self.name = name
        self.kind = kind
        self.explanation = explanation
        self.code = code
        self.failure = failure
    }

    static let idle = ours("idle", "it was idle for too long")
    static let spare = ours("spare", "fewer connections were needed")
    static let aged = ours("aged", "it was old")
    static let replaced = ours("replaced", "its credential was replaced")
    static let shutDown = ours("shutdown", "the session was shut down")
    static let usedUp = Self("used_up", .usedUp, "the gateway accepts no more pushes on it")
    static let closedByPeer = Self("closed", .goodbye, "the gateway closed it")
    /// The gateway did not answer a ping, or several pushes in a row.
    static let silent = Self("silent", .fault, "the gateway did not answer in time")
    static let stalled = Self("stalled", .fault, "the gateway accepted no bytes in time")

    static func ours(_ name: String, _ explanation: String) -> Self { Self(name, .ours, explanation) }

    static func broken(_ what: String) -> Self { Self("broken", .broken, what) }

    static func refused(_ what: String) -> Self {
        if Reason(name: what)?.action(status: 0) == .keepProviderToken {
            return Self("refused", .refused, "the gateway accepts no new provider token yet: \(what)", code: .throttled)
        }
        return Self("refused", .refused, "the gateway refused the credential: \(what)", code: .refused)
    }

    static func unconnected(_ failure: PushError) -> Self {
        Self("unconnected", .unconnected, failure.message, code: failure.code, failure: failure)
    }

    /// A failure of the socket or TLS. Servers refuse a certificate with an alert, which may arrive long after the handshake.
    init(_ error: TLSError) { self = error.isAboutCertificate ? .refused(error.message) : .broken(error.message) }

    /// The error for callers whose pushes were not sent.
    func error(of gateway: Gateway) -> PushError {
        failure ?? PushError(code, "The connection to \(gateway) ended: \(explanation).")
    }

    /// The error for pushes that were sent on it and not answered.
    var unanswered: PushError {
        PushError(code, "The connection ended before the gateway answered: \(explanation).")
    }

    /// Whether the gateway will probably answer on the next connection.
    var isPolite: Bool { kind == .goodbye || kind == .usedUp }

    /// Whether another address should be tried first.
    func isAddressAtFault(answered: Int) -> Bool {
        switch kind {
        case .unconnected: code == .unreachable || code == .notHTTP2
        case .fault, .starved: true
        case .broken, .goodbye: answered == 0
        case .ours, .usedUp, .refused: false
        }
    }

    static func == (one: Self, other: Self) -> Bool { one.name == other.name && one.explanation == other.explanation }
}

import ApplePush

/// What happens to a push after its outcome.
enum Fate: Equatable, Sendable {
    case sent
    /// It failed for good.
    case failed
    /// It goes back, and has used up an attempt.
    case retry
    /// It goes back without using up an attempt.
    case back
    /// It has not ended.
    case pending

    /// - Parameter mayRepeat: The message allows a second send when the outcome is unknown.
    init(_ outcome: Outcome, mayRepeat: Bool, credentialWorks: Bool) {
        switch outcome.verdict {
        case .delivered: self = .sent
        case .safe: self = .back
        case .pending: self = .pending
        case .unknown: self = mayRepeat ? .retry : .failed
        case .rejected:
            guard outcome.isRetryable else {
                self = .failed
                return
            }
            switch outcome.action {
            // The credential works for other pushes, so this push is at fault.
            case .pauseCredential where credentialWorks: self = .retry
            case .pauseCredential, .renewProviderToken, .keepProviderToken: self = .back
            default: self = .retry
            }
        }
    }
}

import ApplePush

/// What happens to a push after its outcome.
enum Fate: Equatable, Sendable {
    case sent
    /// It failed for good.
    case failed
    /// It goes back, and has used up an attempt.
    case retried
    /// It goes back without using up an attempt.
    case returned
    /// It has not ended.
    case pending

    /// - Parameter mayRepeat: The message allows a second send when the outcome is unknown.
    init(_ outcome: Outcome, mayRepeat: Bool, credentialWorks: Bool) {
        switch outcome.verdict {
        case .accepted: self = .sent
        case .safe: self = .returned
        case .pending: self = .pending
        case .unknown: self = mayRepeat ? .retried : .failed
        case .rejected:
            guard outcome.isRetryable else {
                self = .failed
                return
            }
            switch outcome.action {
            // The credential works for other pushes, so this push is at fault.
            case .holdCredential where credentialWorks: self = .retried
            case .holdCredential, .renewProviderToken, .keepProviderToken: self = .returned
            default: self = .retried
            }
        }
    }
}

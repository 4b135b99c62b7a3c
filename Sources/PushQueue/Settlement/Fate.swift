import ApplePush

/// What follows from the outcome of one push.
enum Fate: Equatable, Sendable {
    case sent
    /// It failed for good.
    case failed
    /// It is tried again, which counts as another attempt.
    case retry
    /// It goes back as if it had never been claimed: the push was not to blame.
    case back
    /// It has not ended.
    case pending

    /// Reasons are judged in one table, which is Apple's; what a message allows decides where the table leaves a choice.
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
            // Where the same credential was good for others, it is this push that it is not good for.
            case .pauseCredential where credentialWorks: self = .retry
            case .pauseCredential, .renewProviderToken, .keepProviderToken: self = .back
            default: self = .retry
            }
        }
    }
}

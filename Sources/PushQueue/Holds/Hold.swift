import ApplePush

/// Why an app cannot send at the moment, whatever its pushes contain.
package struct Hold: Error, Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// No connection, or none that lasts, or no memory to read the credential.
        case connection
        /// The gateway refuses the credential, or it cannot be read.
        case credential
        /// There is no provider token that the gateway accepts.
        case providerToken = "provider_token"
        /// The gateway has seen too many new provider tokens. The fleet keeps the one it has for a while.
        case tokenUpdates = "token_updates"
        /// The app has no credential, or no valid gateway.
        case setting
        /// PostgreSQL refuses a question about the app's pushes.
        case database
    }

    package let kind: Kind
    /// A sentence for `holds.reason`, `certificates.last_error` and the log, without any secret.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The credential is the cause, so its row is marked too. Other apps with it are held when they fail themselves.
    var isOfCredential: Bool {
        switch kind {
        case .credential, .providerToken, .tokenUpdates: true
        case .connection, .setting, .database: false
        }
    }

    init(_ error: PushError) {
        switch error.code {
        case .invalidCredential, .refused: self.init(.credential, error.message)
        case .throttled: self.init(.tokenUpdates, error.message)
        case .noProviderToken: self.init(.providerToken, error.message)
        case .invalidGateway: self.init(.setting, error.message)
        default: self.init(.connection, error.message)
        }
    }

    /// Returns nil if the outcomes show none. A refusal of the credential counts only if no push of the batch was delivered.
    init?(_ outcomes: Outcomes) {
        if let failure = outcomes.connectFailure {
            self.init(failure)
            return
        }
        if outcomes.areAccepted(at: outcomes.indices) { return nil }
        let credentialWorks = outcomes.contains { $0.verdict == .accepted }
        var wasSafe = false
        var wasAnswered = false
        for outcome in outcomes {
            switch outcome.verdict {
            case .accepted: wasAnswered = true
            case .safe: wasSafe = true
            case .unknown, .pending: continue
            case .rejected:
                wasAnswered = true
                let reason = outcomes.text(of: outcome.reason)
                switch outcome.action {
                case .holdCredential where !credentialWorks:
                    self.init(.credential, "APNs refuses the credential: \(outcome.status) \(reason).")
                    return
                case .renewProviderToken:
                    self.init(.providerToken, "APNs refuses the provider token: \(outcome.status) \(reason).")
                    return
                case .keepProviderToken:
                    self.init(.tokenUpdates, "APNs accepts no new provider token yet: \(outcome.status) \(reason).")
                    return
                default: continue
                }
            }
        }
        guard wasSafe, !wasAnswered else { return nil }
        self.init(.connection, "Connections to the gateway end before they accept a push.")
    }
}

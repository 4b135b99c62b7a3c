import IO

/// The provider token that connections are made with.
extension ConnectionPool {
    /// Whether pushes may be sent: with a certificate always, else with a token that is good. One that is due for
    /// renewal is good for some minutes more.
    func mayAuthorize(at now: MonotonicInstant) -> Bool {
        guard case .providerToken = self.credential.kind else { return true }
        guard let due = self.authorizationDue, now < due else {
            if let rest = self.tokensRestUntil, now < rest, self.authorization != nil { return true }
            self.renewToken(refusing: nil)
            return self.authorization != nil
        }
        return true
    }

    /// How long the gateway's word holds that the token it got instead is too old as well.
    private static let secondRenewal: Duration = .seconds(60)

    /// The gateway has seen too many new tokens: until it will take another, the one in use has to do.
    func restTokens(at now: MonotonicInstant) { self.tokensRestUntil = now + .seconds(ProviderToken.minimumAge) }

    func renewToken(refusing refused: ProviderToken?) {
        guard self.renewal == nil, !self.isShutDown, case .providerToken(let tokens) = self.credential.kind else {
            return
        }
        if let refused {
            // Another connection may have said so before, and it was replaced already.
            guard let authorization, authorization.token == refused else { return }
            let now = MonotonicInstant.now
            if let rest = self.tokensRestUntil, now < rest {
                self.authorization = Authorization(token: refused, isRenewed: true)
                return
            }
            if authorization.isRenewed, now - authorization.since < Self.secondRenewal { return }
            self.authorization = nil
            self.authorizationDue = nil
        }
        self.renewal = Task {
            do throws(PushError) {
                let token = try await tokens.current(refusing: refused)
                self.adopt(token, from: tokens, isRenewed: refused != nil)
            } catch {
                self.renewalFailed(error)
            }
            self.renewal = nil
            self.pumpSoon()
        }
    }

    private func adopt(_ token: ProviderToken, from tokens: ProviderTokens, isRenewed: Bool) {
        let authorization = Authorization(token: token, isRenewed: isRenewed)
        self.authorization = authorization
        self.authorizationDue = .now + .seconds(max(1, tokens.secondsToRenewal(of: token)))
        for connection in self.connections { connection.conversation.authorize(authorization) }
    }

    /// A token in use stays in use, and renewing it is tried again soon.
    private func renewalFailed(_ error: PushError) {
        if self.authorization == nil {
            self.giveUpWaiting(error)
        } else {
            self.authorizationDue = .now + .seconds(5)
        }
    }
}

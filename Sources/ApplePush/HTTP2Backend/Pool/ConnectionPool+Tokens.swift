import IO

/// The provider token that connections are made with.
extension ConnectionPool {
    /// Whether pushes may be sent: with a certificate always, else with a token that is good. One that is due for
    /// renewal is good for some minutes more.
    func mayAuthorize(at now: MonotonicInstant) -> Bool {
        guard case .providerToken(let tokens) = self.credential.kind else { return true }
        if self.authorizations.isDue(at: now) { self.renew(from: tokens, refusing: nil) }
        return self.authorizations.current != nil
    }

    /// The gateway has called that token too old.
    func renewToken(refusing refused: ProviderToken) {
        guard case .providerToken(let tokens) = self.credential.kind,
            self.renewal == nil, self.authorizations.refused(refused, at: .now)
        else { return }
        self.renew(from: tokens, refusing: refused)
    }

    private func renew(from tokens: ProviderTokens, refusing refused: ProviderToken?) {
        guard self.renewal == nil, !self.isShutDown else { return }
        self.renewal = Task {
            do throws(PushError) {
                let token = try await tokens.current(refusing: refused)
                if self.isShutDown { return }
                let rest = Duration.seconds(tokens.secondsToRenewal(of: token))
                let authorization = Authorization(token: token, isRenewed: refused != nil, since: .now)
                self.authorizations.adopt(authorization, for: rest)
                for connection in self.connections { connection.conversation.authorize(authorization) }
            } catch {
                self.authorizations.failed(at: .now)
                if self.authorizations.current == nil { self.giveUpWaiting(error) }
            }
            self.renewal = nil
            self.pumpSoon()
        }
    }
}

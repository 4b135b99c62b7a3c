import CarillonText

extension WorkerEvent {
    static func held(app: String, _ hold: Hold, for wait: Duration) -> Self {
        Self(.held, .error, hold.message)
            .with(["app": app, "kind": hold.kind.rawValue, "next_attempt_in": DurationText.write(wait)])
    }

    static func holdEnded(app: String) -> Self {
        Self(.holdEnded, .info, "The app can send again.").with(["app": app])
    }

    static func holdOutdated(app: String) -> Self {
        Self(.holdEnded, .info, "The app, its gateway or its credential has changed, so it is no longer held.")
            .with(["app": app])
    }

    static func breakerOpened(app: String, reason: String) -> Self {
        Self(.breakerOpened, .error, "An app was paused: most of its pushes fail, probably because of its settings.")
            .with(["app": app, "reason": reason]).counted { $0.breakers[app, default: 0] += 1 }
    }

    static func tokenMinted(_ key: String) -> Self {
        Self(.tokenMinted, .info, "Minted the provider token that the fleet uses from now on.").with(["key": key])
    }

    /// - Parameter days: Below 0: it has expired.
    static func credentialExpires(name: String, days: Int64) -> Self {
        days < 0
            ? Self(.credentialExpires, .error, "A certificate has expired: import a newer one.")
                .with(["credential": name])
            : Self(.credentialExpires, .warning, "A certificate expires soon: import a newer one.")
                .with(["credential": name, "days_left": days])
    }
}

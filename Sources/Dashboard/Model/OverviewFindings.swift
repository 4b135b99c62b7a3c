import CarillonIO
import CarillonSchema

/// What is wrong now: what `carillon check` finds in the same records, and what only the dashboard looks for.
enum OverviewFindings {
    /// The critical ones first.
    static func all(
        apps: [AppStatus],
        fleet: FleetReport,
        maintenance: MaintenanceReport,
        horizon: HorizonHolder?,
        webhooks: [WebhookRecord]
    ) -> [Finding] {
        var all = fleet.findings
        all += AppStatus.findings(of: apps)
        all += credentials(apps)
        all += maintenance.findings
        all += [horizon?.finding].compactMap(\.self)
        all += webhooks.compactMap { $0.finding(at: WallClock.microseconds) }
        return all.filter { $0.severity == .critical } + all.filter { $0.severity == .warning }
    }

    private static func credentials(_ apps: [AppStatus]) -> [Finding] {
        var seen: Set<String> = []
        return apps.compactMap { app in
            guard app.credentialStatus != .missing else {
                // Its hold, if there is one, already reports it.
                guard app.holdReason == nil else { return nil }
                return Finding(.app(app.name), .critical, "\(app.name) has no credential.", remedy: app.holdRemedy)
            }
            guard let name = app.credential, seen.insert(name).inserted else { return nil }
            return app.credentialStatus?
                .finding(of: name, expiresIn: app.credentialExpiresIn, error: app.credentialError)
        }
    }
}

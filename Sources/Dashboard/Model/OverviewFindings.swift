import CarillonSchema
import CarillonText

/// What is wrong now: what `carillon check` finds in the same records, and what only the dashboard looks for.
enum OverviewFindings {
    /// The critical ones first.
    static func all(
        apps: [AppStatus],
        fleet: FleetReport,
        maintenance: MaintenanceReport,
        horizon: HorizonHolder?
    ) -> [Finding] {
        var all = fleet.findings
        all += AppStatus.findings(of: apps)
        all += credentials(apps)
        all += maintenance.findings
        all += [horizon?.finding].compactMap(\.self)
        return all.filter { $0.severity == .critical } + all.filter { $0.severity == .warning }
    }

    private static func credentials(_ apps: [AppStatus]) -> [Finding] {
        var seen: Set<String> = []
        return apps.compactMap { app in
            let name = app.credential ?? ""
            guard let status = app.credentialStatus, status != .ok, name.isEmpty || seen.insert(name).inserted else {
                return nil
            }
            let remedy =
                "Import a new one under the same name: 'carillon credential import \(name.shellQuoted) --file FILE'."
            switch status {
            // The hold of the app already reports it.
            case .missing where app.holdReason != nil: return nil
            case .missing:
                return Finding(
                    .app(app.name),
                    .critical,
                    "\(app.name) has no credential.",
                    remedy: "Choose one: 'carillon app set \(app.name.shellQuoted) --credential NAME'."
                )
            case .expiring:
                let days = (app.credentialExpiresIn ?? 0) / 86_400
                return Finding(
                    .credentials,
                    days < 7 ? .critical : .warning,
                    "Credential \(name) expires in \(Counted.text(days, "day")).",
                    remedy: remedy
                )
            default:
                let error = app.credentialError.map { " " + $0.asSentence } ?? ""
                return Finding(
                    .credentials,
                    .critical,
                    "Credential \(name) is \(status.rawValue).\(error)",
                    remedy: remedy
                )
            }
        }
    }
}

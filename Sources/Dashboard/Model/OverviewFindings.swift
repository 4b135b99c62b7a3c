import CarillonSchema
import CarillonText

/// What is wrong now: what `carillon check` finds in the same records, and what only the dashboard looks for.
enum OverviewFindings {
    /// The critical ones first.
    static func all(
        apps: [AppStatus],
        workers: [WorkerRecord],
        maintenance: MaintenanceReport,
        oldestTransaction: Int64?
    ) -> [Finding] {
        var all = [missingWorker(apps, workers)].compactMap(\.self)
        all += WorkerRecord.findings(of: workers)
        all += AppStatus.findings(of: apps)
        all += credentials(apps)
        all += maintenance.findings
        all += [OldestTransaction.finding(of: oldestTransaction)].compactMap(\.self)
        return all.filter { $0.severity == .critical } + all.filter { $0.severity == .warning }
    }

    private static func missingWorker(_ apps: [AppStatus], _ workers: [WorkerRecord]) -> Finding? {
        guard !workers.contains(where: { $0.state != .silent }) else { return nil }
        let waiting = apps.contains { $0.ready.value > 0 }
        return Finding(
            .workers,
            waiting ? .critical : .warning,
            "No worker is running" + (waiting ? ", and jobs wait." : "."),
            remedy: "Start 'carillon worker', on as many machines as you like."
        )
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

import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import CarillonText

extension Command {
    static let appShow = Command(
        "app show",
        roles: ["carillon_worker"],
        summary: "Show the settings and the state of an app.",
        discussion:
            "The line waiting counts its jobs that are ready, scheduled and in flight. With --json, that is in status.",
        arguments: [Argument("NAME", "The app.")],
        options: [.json, .database],
        run: { invocation in
            let snapshot = try await DatabaseScope.with(invocation) { connection, _ in
                try await AppSnapshot.read(invocation.name, on: connection)
            }
            invocation.show(snapshot.json) { console in
                for line in snapshot.lines { console.print(line) }
            }
            let mismatches = snapshot.credential?.mismatches(with: snapshot.app) ?? []
            for mismatch in mismatches { invocation.console.warn(mismatch) }
            return .done
        }
    )
}

private struct AppSnapshot: JSONConvertible {
    let app: App
    let credential: StoredCredential?
    let status: AppStatus?

    static func read(_ name: String, on connection: PostgresConnection) async throws -> AppSnapshot {
        let app = try await AppStore(connection).find(name)
        let credential = try await CredentialStore(connection).ifAny(named: app.settings.credential)
        return AppSnapshot(
            app: app,
            credential: credential,
            status: try await AppStatus.all(named: name, from: connection).first
        )
    }

    /// The root certificate, as text for people.
    private var authority: String? {
        app.settings.gatewayCA.map { pem in
            guard let facts = try? CertificateFacts(pem: pem) else { return "not a certificate" }
            return "\(facts.subject), valid until \(TimeText.day(facts.notAfter * 1_000_000))"
        }
    }

    private var waiting: String? {
        status.map {
            "\($0.ready.text) ready, \($0.scheduled.text) scheduled, \(Int($0.inFlight).grouped) in flight"
        }
    }

    var json: JSONValue {
        .joined(
            app.json,
            [
                "credential_topics": credential?.topics ?? [],
                "created_at": app.createdAt, "updated_at": app.updatedAt,
                "status": status,
            ]
        )
    }

    var lines: [String] {
        let state = AppStatus.State(isPaused: app.isPaused, isHeld: status?.holdReason != nil)
        let reason = app.isPaused ? app.pausedReason : status?.holdReason
        var settings = app.settings
        // People do not read PEM.
        settings.gatewayCA = authority
        var rows: [(String, String?)] = [
            ("name", app.name), ("state", state.rawValue + (reason.map { ": \($0)" } ?? "")),
            ("credential", app.settings.credential.map { "\($0): " + (credential?.sentence ?? "") } ?? "none"),
        ]
        for setting in AppSetting.all where setting.name != "name" {
            rows.append((setting.name, setting.text(settings)))
        }
        rows += [
            ("waiting", waiting), ("added", app.createdAt.text), ("changed", app.updatedAt.text),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        return rows.compactMap { name, value in value.map { "\(name.padding(to: width))  \($0.visible)" } }
    }
}

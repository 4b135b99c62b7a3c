import ApplePush
import Postgres

/// The apps that this worker has met, as their rows were read last.
struct AppDirectory: Sendable {
    enum Entry: Sendable {
        case known(App)
        /// The database has no such app.
        case absent
        case unread
    }

    /// What reading rows has changed.
    struct News: Sendable {
        /// Apps whose route to the gateway is another.
        var rerouted: [Int32] = []
        var findings: [CredentialNotes.Finding] = []
        /// Credentials that no app uses any more.
        var unused: Set<Credential> = []
    }

    private struct Certificate {
        let version: Int64
        let since: Int64
        let credential: Result<Credential, Trouble>
    }

    /// Of the tables as a whole: it differs when anything in them has changed.
    var fingerprint: [Int64] = []
    private var apps: [Int32: App] = [:]
    private var absent: Set<Int32> = []
    private var certificates: [Int32: Certificate] = [:]

    subscript(id: Int32) -> Entry {
        if let app = apps[id] { return .known(app) }
        return absent.contains(id) ? .absent : .unread
    }

    /// The name of the app, or its id.
    func name(of id: Int32) -> String { apps[id]?.name ?? "\(id)" }

    func isUnread(_ id: Int32) -> Bool { apps[id] == nil && !absent.contains(id) }

    var ids: [Int32] { Array(apps.keys) }

    /// An app may be added together with its first message, so absence is not remembered for long.
    mutating func forgetAbsent() {
        absent.removeAll()
    }

    func parameters(for ids: [Int32]) -> Parameters {
        var parameters = Parameters(PostgresArray(ids))
        let known = certificates.map { ($0.key, $0.value.version) }
        parameters.append(PostgresArray(known.map(\.0)))
        parameters.append(PostgresArray(known.map(\.1)))
        return parameters
    }

    /// Which row holds the credential with that digest, and since when. Of several rows all workers find the same one.
    func row(holding digest: [UInt8]) -> (certificate: Int32, since: Int64)? {
        var found: (certificate: Int32, since: Int64)?
        for (id, certificate) in certificates where found.map({ id < $0.certificate }) ?? true {
            if case .success(let credential) = certificate.credential, credential.digest == digest {
                found = (id, certificate.since)
            }
        }
        return found
    }

    /// Takes in the rows of the apps that were asked for. Those without a row are absent.
    mutating func read(_ rows: [AppRow], of ids: [Int32]) -> News {
        var news = News()
        var left: Set<Credential> = []
        let present = Set(rows.map(\.id))
        for id in ids where !present.contains(id) {
            if case .success(let route) = apps.removeValue(forKey: id)?.route { left.insert(route.credential) }
            absent.insert(id)
        }
        for row in rows {
            let app = app(row, &news)
            if let before = apps[app.id], before.route != app.route {
                news.rerouted.append(app.id)
                if case .success(let route) = before.route { left.insert(route.credential) }
            }
            apps[app.id] = app
            absent.remove(app.id)
        }
        if !left.isEmpty { news.unused = left.filter { !isInUse($0) } }
        return news
    }

    private func isInUse(_ credential: Credential) -> Bool {
        apps.values.contains { app in
            if case .success(let route) = app.route { route.credential == credential } else { false }
        }
    }

    private mutating func app(_ row: AppRow, _ news: inout News) -> App {
        let route: Result<App.Route, Trouble>
        do throws(Trouble) {
            let gateway = try row.destination()
            route = .success(App.Route(gateway: gateway, credential: try credential(row, &news)))
        } catch {
            route = .failure(error)
        }
        return App(
            id: row.id,
            name: row.name,
            topic: Array((row.topic ?? "").utf8),
            isPaused: row.isPaused,
            mostRate: row.mostRate,
            mostAttempts: Int16(clamping: row.mostAttempts),
            certificate: row.certificate,
            route: route
        )
    }

    private mutating func credential(_ row: AppRow, _ news: inout News) throws(Trouble) -> Credential {
        guard let id = row.certificate, let version = row.version else { throw row.hasNoCredential }
        if let secret = row.secret {
            let credential: Result<Credential, Trouble>
            do throws(Trouble) {
                credential = .success(try secret.credential())
            } catch {
                credential = .failure(error)
            }
            let since = row.credentialSince ?? 0
            certificates[id] = Certificate(version: version, since: since, credential: credential)
        }
        guard let certificate = certificates[id] else {
            throw Trouble(.setting, "The credential of app “\(row.name)” was not read.")
        }
        if row.isUnjudged {
            news.findings.append(
                CredentialNotes.Finding(
                    certificate: id,
                    since: certificate.since,
                    facts: certificate.credential.map(\.facts)
                )
            )
        }
        return try certificate.credential.get()
    }
}

import ApplePush
import Postgres

/// The apps that this worker has had to do with, as their rows say now.
struct AppDirectory: Sendable {
    enum Entry: Sendable {
        case known(App)
        /// The database has no such app.
        case absent
        /// Nobody has looked yet.
        case unread
    }

    private struct Certificate {
        let version: Int64
        let since: Int64
        let credential: Result<Credential, Trouble>
    }

    /// What is known of the tables as a whole, to see whether anything in them has changed.
    private(set) var fingerprint: [Int64] = []
    private var apps: [Int32: App] = [:]
    private var absent: Set<Int32> = []
    private var certificates: [Int32: Certificate] = [:]
    /// What credentials were found to be that nobody has looked at before.
    private var findings: [Int32: CredentialFinding] = [:]
    /// Credentials that no app uses any more.
    private var unused: Set<Credential> = []
    /// Where signing keys get their provider tokens from; nil: each mints its own.
    var tokens: ProviderToken.Supply?

    subscript(id: Int32) -> Entry {
        if let app = apps[id] { return .known(app) }
        return absent.contains(id) ? .absent : .unread
    }

    /// How people call it, as far as that is known.
    func name(of id: Int32) -> String { apps[id]?.name ?? "\(id)" }

    func isUnread(_ id: Int32) -> Bool {
        if case .unread = self[id] { true } else { false }
    }

    var ids: [Int32] { Array(apps.keys) }

    /// An app may come into being together with its first message, so that there is none is never remembered for long.
    mutating func forgetAbsent() {
        absent.removeAll()
    }

    /// Everything is known as it is at that fingerprint.
    mutating func caughtUp(with fingerprint: [Int64]) {
        self.fingerprint = fingerprint
    }

    func parameters(for ids: [Int32]) -> Parameters {
        var parameters = Parameters()
        parameters.append(PostgresArray(ids))
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

    /// Takes in the rows that were read of the apps asked for; those without a row are absent. Answers with the apps
    /// whose way to the gateway has changed.
    mutating func read(_ rows: [AppRow], of ids: [Int32]) -> [App] {
        var changed: [App] = []
        var left: Set<Credential> = []
        let present = Set(rows.map(\.id))
        for id in ids where !present.contains(id) {
            if case .success(let route) = apps.removeValue(forKey: id)?.route { left.insert(route.credential) }
            absent.insert(id)
        }
        for row in rows {
            let app = self.app(row)
            if let before = apps[app.id], before.route != app.route {
                changed.append(app)
                if case .success(let route) = before.route { left.insert(route.credential) }
            }
            apps[app.id] = app
            absent.remove(app.id)
        }
        if !left.isEmpty { unused.formUnion(left.filter { !isInUse($0) }) }
        return changed
    }

    private func isInUse(_ credential: Credential) -> Bool {
        apps.values.contains { app in
            if case .success(let route) = app.route { route.credential == credential } else { false }
        }
    }

    /// What was found since this was asked last: what is to be written down, and what is to be let go.
    mutating func takeNews() -> (findings: [CredentialFinding], unused: Set<Credential>) {
        defer { (findings, unused) = ([:], []) }
        return (Array(findings.values), unused)
    }

    private mutating func app(_ row: AppRow) -> App {
        App(
            id: row.id,
            name: row.name,
            topic: Array((row.topic ?? "").utf8),
            isPaused: row.isPaused,
            mostRate: row.mostRate,
            mostAttempts: Int16(clamping: row.mostAttempts),
            certificate: row.certificate,
            route: route(row)
        )
    }

    private mutating func route(_ row: AppRow) -> Result<App.Route, Trouble> {
        do throws(Trouble) {
            let gateway = try row.destination()
            return .success(App.Route(gateway: gateway, credential: try credential(row)))
        } catch {
            return .failure(error)
        }
    }

    private mutating func credential(_ row: AppRow) throws(Trouble) -> Credential {
        guard let id = row.certificate, let version = row.version else {
            throw Trouble(.setting, "App “\(row.name)” has no credential: set its certificate_id.")
        }
        if let secret = row.secret {
            var credential: Result<Credential, Trouble>
            do throws(Trouble) {
                credential = .success(try secret.credential(supply: tokens))
            } catch {
                credential = .failure(error)
            }
            // The same credential in a row that changed otherwise keeps its provider token and its connections.
            if case .success(let before) = certificates[id]?.credential, credential == .success(before) {
                credential = .success(before)
            }
            let since = row.credentialSince ?? 0
            certificates[id] = Certificate(version: version, since: since, credential: credential)
        }
        guard let certificate = certificates[id] else {
            throw Trouble(.setting, "The credential of app “\(row.name)” was not read.")
        }
        if row.isUnjudged {
            findings[id] = CredentialFinding(
                certificate: id,
                since: certificate.since,
                facts: certificate.credential.map(\.facts)
            )
        }
        return try certificate.credential.get()
    }
}

import ApplePush
import CarillonPostgres

/// The apps of the lanes that this worker has found, as their rows were read last.
struct AppDirectory: Sendable {
    /// What has changed since the rows were last read.
    struct Changes: Sendable {
        /// Apps with another route than before, or whose credential was written again.
        var rerouted: [Int32] = []
        /// Apps whose rows are gone.
        var removed: [(id: Int32, name: String)] = []
        var facts: [WorkerNotes.CredentialFacts] = []
        /// Credentials that no app uses any more.
        var unused: Set<Credential> = []
    }

    private struct Certificate {
        let version: Int64
        let since: Int64
        let credential: Result<Credential, Hold>

        /// False if there was no memory to read it: it is read again, and nothing is known of it until then.
        var isRead: Bool {
            if case .failure(let hold) = credential { hold.isOfCredential } else { true }
        }
    }

    /// See `AppWithSecret.fingerprint`. All changes up to this one were read.
    var fingerprint: [Int64] = []
    /// Looks skip these apps.
    var pausedRanges: [PausedRange] = []
    /// The database has no such apps.
    private var absent: Set<Int32> = []
    private var apps: [Int32: RoutedApp] = [:]
    private var certificates: [Int32: Certificate] = [:]
    private let reading: @Sendable (CredentialText) throws(Hold) -> Credential

    init(
        reading: @escaping @Sendable (CredentialText) throws(Hold) -> Credential = { text throws(Hold) in
            try text.usable()
        }
    ) {
        self.reading = reading
    }

    /// Nil if the database has no such app, or its row was not read.
    subscript(id: Int32) -> RoutedApp? { apps[id] }

    func name(of id: Int32) -> String { apps[id]?.name ?? "\(id)" }

    func maxRate(of id: Int32) -> Int32? { apps[id]?.row.settings.maxRate }

    func isUnread(_ id: Int32) -> Bool { apps[id] == nil && !absent.contains(id) }

    var ids: [Int32] { Array(apps.keys) }

    /// Rows were found in these lanes. Returns the apps whose rows have to be read first.
    mutating func found(_ lanes: [Lane]) -> Set<Int32> {
        // An app may be added together with its first message, so absence is not remembered for long.
        absent.removeAll()
        return Set(lanes.map(\.app)).filter { isUnread($0) }
    }

    var hasUnreadCredentials: Bool { certificates.values.contains { !$0.isRead } }

    func parameters(for ids: [Int32]) -> Parameters {
        AppWithSecret.parameters(for: ids, knowing: certificates.filter(\.value.isRead).mapValues(\.version))
    }

    /// The row of the credential with that digest, and when it was written. Of several rows, every worker takes the lowest.
    func row(withDigest digest: [UInt8]) -> (certificate: Int32, since: Int64)? {
        var found: (certificate: Int32, since: Int64)?
        for (id, certificate) in certificates where found.map({ id < $0.certificate }) ?? true {
            if case .success(let credential) = certificate.credential, credential.digest == digest {
                found = (id, certificate.since)
            }
        }
        return found
    }

    /// The rows of these apps were read. Apps without a row are absent.
    mutating func read(_ rows: [AppWithSecret], of ids: [Int32]) -> Changes {
        var changes = Changes()
        var left: Set<Credential> = []
        let present = Set(rows.map(\.app.id))
        for id in ids where !present.contains(id) {
            absent.insert(id)
            guard let app = apps.removeValue(forKey: id) else { continue }
            changes.removed.append((id, app.name))
            if case .success(let route) = app.route { left.insert(route.credential) }
        }
        for row in rows {
            let id = row.app.id
            let app = RoutedApp(
                row.app,
                route(of: row, &changes),
                otherGateway: try? row.app.otherGateway(),
                credentialSince: row.credentialSince
            )
            absent.remove(id)
            guard let before = apps.updateValue(app, forKey: id) else { continue }
            // Not its version, which every note about the credential changes.
            if before.route != app.route || before.otherGateway != app.otherGateway
                || before.credentialSince != app.credentialSince
            {
                changes.rerouted.append(id)
            }
            if before.route != app.route, case .success(let route) = before.route { left.insert(route.credential) }
        }
        if !left.isEmpty { changes.unused = left.filter { !isInUse($0) } }
        return changes
    }

    /// Whether an app sends with that credential: most likely this one, so it is asked first.
    func isInUse(_ credential: Credential, by app: Int32) -> Bool {
        apps[app].map { $0.sends(with: credential) } ?? false || isInUse(credential)
    }

    private func isInUse(_ credential: Credential) -> Bool { apps.values.contains { $0.sends(with: credential) } }

    private mutating func route(of row: AppWithSecret, _ changes: inout Changes) -> Result<App.Route, Hold> {
        do throws(Hold) {
            let gateway = try row.app.gateway()
            return .success(App.Route(gateway: gateway, credential: try credential(row, &changes)))
        } catch {
            return .failure(error)
        }
    }

    private mutating func credential(_ row: AppWithSecret, _ changes: inout Changes) throws(Hold) -> Credential {
        guard let id = row.app.certificateID, let version = row.version else { throw row.hasNoCredential }
        if let secret = row.secret {
            let credential = Result { () throws(Hold) in try reading(secret) }
            certificates[id] = Certificate(version: version, since: row.credentialSince ?? 0, credential: credential)
        }
        guard let certificate = certificates[id] else {
            throw Hold(.setting, "The credential of app “\(row.app.name)” was not read.")
        }
        if row.lacksFacts, certificate.isRead {
            changes.facts.append(
                WorkerNotes.CredentialFacts(
                    certificate: id,
                    since: certificate.since,
                    facts: certificate.credential.map(\.facts)
                )
            )
        }
        return try certificate.credential.get()
    }
}

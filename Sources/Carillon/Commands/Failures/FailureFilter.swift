import Postgres

/// Which failures a command is about.
struct FailureFilter {
    static let options: [Option] = [.app, .reason, .since, .message]

    private static let app = Statement("failures_app", "SELECT count(*) FROM carillon.apps a WHERE a.name = $1")

    let settings: Settings

    /// It leaves nothing out.
    var isEmpty: Bool {
        settings.text(.app) == nil && settings.text(.reason) == nil && settings.durationIfAny(.since) == nil
            && settings.countIfAny(.message) == nil
    }

    /// App, reason, seconds and message, each of which may be null.
    func append(to parameters: inout Parameters) {
        parameters.append(settings.text(.app))
        parameters.append(settings.text(.reason))
        parameters.append(settings.durationIfAny(.since)?.seconds)
        parameters.append(settings.countIfAny(.message).map(Int64.init))
    }

    /// A name that is none finds nothing, which looks like good news.
    func check(on connection: PostgresConnection) async throws {
        guard let name = settings.text(.app) else { return }
        var parameters = Parameters()
        parameters.append(name)
        guard try await connection.query(Self.app, parameters, { rows in try rows.int64(0, 0) }) == 0 else { return }
        throw CommandError(.usage, "There is no app named '\(name)'.", hint: "'carillon app list' shows them.")
    }
}

import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

/// Selects the failures that a command is about.
struct FailureFilter {
    static let options: [Option] = [.app, .reason, .since, .message]

    private static let reasons = Statement("failures_reasons", "SELECT DISTINCT f.reason FROM carillon.failures f")

    let settings: Settings

    /// Selects all of them.
    var isEmpty: Bool {
        settings.text(.app) == nil && settings.text(.reason) == nil && settings.durationIfAny(.since) == nil
            && settings.countIfAny(.message) == nil
    }

    /// App, reason, seconds and message; each may be null.
    func append(to parameters: inout Parameters) {
        parameters.append(settings.text(.app))
        parameters.append(settings.text(.reason))
        parameters.append(settings.durationIfAny(.since)?.seconds)
        parameters.append(settings.countIfAny(.message).map(Int64.init))
    }

    /// Refuses a name that does not exist: an empty list would look like good news.
    func check(on connection: PostgresConnection) async throws {
        if let name = settings.text(.app) { try await AppStore(connection).require(name) }
        if let message = settings.countIfAny(.message),
            try await MessageStatus.all(Int64(message), of: settings.text(.app), from: connection).isEmpty
        {
            throw MessageKey.unknown("\(message)")
        }
        if let reason = settings.text(.reason) { try await check(reason, on: connection) }
    }

    private func check(_ reason: String, on connection: PostgresConnection) async throws {
        let known = Reason.all.compactMap(\.reason.name) + LocalReason.allCases.map(\.name)
        if known.contains(reason) { return }
        // A gateway may use reasons of its own.
        let seen: [String] = try await connection.values(of: Self.reasons)
        if seen.contains(reason) { return }
        let nearest = Suggestion.nearest(to: reason, among: known + seen)
        throw CommandError(
            .usage,
            "There is no reason '\(reason)'." + (nearest.map { " Did you mean '\($0)'?" } ?? ""),
            hint:
                "Reasons are Apple's, such as BadDeviceToken, or Carillon's, such as OutcomeUnknown. 'carillon failures list' "
                + "shows the reasons of your failures."
        )
    }
}

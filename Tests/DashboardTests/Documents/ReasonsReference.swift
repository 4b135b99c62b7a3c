import ApplePush
import CarillonPushQueue
import CarillonSchema
import TestSupport

@testable import CarillonDashboard

/// The text of docs/reasons.md, made from the tables of reasons and from `carillon.can_requeue`.
struct ReasonsReference {
    /// Apple's reasons and Carillon's own, each once.
    static let names = Set(apple.keys).union(local).sorted()

    private static let apple = [String: UInt16](
        uniqueKeysWithValues: Reason.all.compactMap { item in item.reason.name.map { ($0, item.status) } }
    )
    private static let local = Set(LocalReason.allCases.map(\.name)).union(["MalformedHeader"])

    let database: TestDatabase

    func text() async throws -> String {
        var rows: [String] = []
        for name in Self.names {
            let cells = [
                "`\(name)`", Self.source(of: name), ReasonText.meaning(of: name), ReasonAdvice(name).text,
                try await requeueing(of: name),
            ]
            rows.append("| \(cells.joined(separator: " | ")) |")
        }
        return """
            # Reasons

            Each push that failed has a row in `carillon.failures`, with one of these reasons. `last_reason` of
            `carillon.message_status` and the metrics have the same names. If what to do depends on whether a push still waits, with
            the reason as its `last_reason`, or has failed, the table says both.

            The last column says whether `carillon.requeue_failures` and `carillon failures requeue` enqueue such a failure again.
            [messages.md](messages.md#sending-again) says what else they leave out.

            | reason | from, with status | what it means | what to do | requeued |
            |---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            A reason that is not in this table is new at Apple, or the gateway is not Apple's. It is recorded unchanged, and its
            status decides what follows: 429 and 5xx are retried, 410 means a dead token, 403 holds the app, and after any other
            status the push fails. Three names are not reasons of failures: `Superseded` means that a newer push replaced this one
            before it was sent. In metrics, `Expired` means that the push was not sent before `expires_at`, and `OtherReasons`
            counts the reasons of an app beyond 64.

            `make docs` generates this page from the program.

            """
    }

    private static func source(of name: String) -> String {
        let status = apple[name].map { "APNs \($0)" }
        return [status, local.contains(name) ? "Carillon" : nil].compactMap(\.self).joined(separator: ", ")
    }

    /// A failure as `Unrecorded` has the status of its answer, if there was one.
    private func requeueing(of name: String) async throws -> String {
        if ReasonAdvice(name).onceFailed == nil { return "never a failure" }
        if name == LocalReason.unrecorded.name {
            return [
                "without a status: \(try await requeueing(of: name, status: nil))",
                "200: \(try await requeueing(of: name, status: 200))",
                "other statuses except 410: \(try await requeueing(of: name, status: 400))",
            ].joined(separator: "; ")
        }
        guard let status = Self.apple[name] else { return try await requeueing(of: name, status: nil) }
        let answered = try await requeueing(of: name, status: status)
        guard Self.local.contains(name) else { return answered }
        return "from APNs: \(answered); from Carillon: \(try await requeueing(of: name, status: nil))"
    }

    private func requeueing(of name: String, status: UInt16?) async throws -> String {
        for (options, text) in [
            ("false, false", "yes"), ("true, false", "with `include_unknown`"),
            ("false, true", "with `include_delivered`"),
        ] {
            let call = "carillon.can_requeue(\(status.map { "\($0)" } ?? "NULL")::smallint, '\(name)', \(options))"
            if try await database.value(call) == "true" { return text }
        }
        return "no"
    }
}

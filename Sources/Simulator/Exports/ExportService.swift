import CarillonIO
import CarillonText
import FoundationEssentials

/// Apple's export service of metrics, without a connection: what it answers to each request. The counts of its files are made up.
package final class ExportService: Sendable {
    /// A status, and JSON or a file.
    package typealias Response = (status: Int, body: String)

    private struct Request: Decodable, Hashable {
        let startDate, endDate: String
        let dataDownloadUrlExpiresInMinutes: Int
    }

    private struct Export {
        let path: [String]
        let token: String
        let request: Request
        let requestedAt: Int64
        var polls = 0
    }

    private struct State {
        var exports: [String: Export] = [:]
        /// How many requests there were of each kind, if there is a rule for it.
        var uses: [ExportStep: UInt32] = [:]
    }

    private static let day: Int64 = 86_400_000_000
    private static let maxDays: Int64 = 30
    private static let minutes = 20...60
    /// With more, all are forgotten.
    private static let maxExports = 1_000
    /// The two ways in which Apple's page names the URL of a file. A rule with the other one as its reason chooses it.
    private static let (usualName, otherName) = ("dataUrl", "dataURL")
    private static let counts = [
        ("alert", "Delivered to Device", 1_200), ("alert", "Delivered to Device (From Storage)", 90),
        ("alert", "Stored - Device Offline", 110), ("alert", "Discarded - Token Unregistered", 20),
        ("background", "Delivered to Device", 300), ("voip", "Delivered to Device", -1),
    ]

    private let rules: [AnswerRule]
    private let state = Guarded(State())

    init(_ rules: [AnswerRule]) { self.rules = rules }

    /// The answer to a request for an export. Within a day, the same request gets the same one.
    ///
    /// - Parameters:
    ///   - path: the team, the bundle ID and the dataset.
    ///   - token: that of the header; nil if there is none.
    ///   - base: of the URLs in answers.
    ///   - now: in microseconds since 1970.
    package func request(_ path: [String], token: String?, body: [UInt8], base: String, now: Int64) -> Response {
        if let rule = rule(for: .export) { return Self.refusal(rule) }
        guard let token, !token.isEmpty else { return Self.refusal(401, "The export token is missing.") }
        guard path.last == "deliverymetrics" else { return Self.refusal(404, "There is no such dataset here.") }
        guard let request = try? JSONDecoder().decode(Request.self, from: Data(body)) else {
            return Self.refusal(400, "startDate, endDate and dataDownloadUrlExpiresInMinutes are required.")
        }
        if let fault = Self.fault(of: request, now: now) { return Self.refusal(400, fault) }
        let (id, requestedAt) = state.withLock { state in
            let known = state.exports.first { _, export in
                export.path == path && export.token == token && export.request == request
                    && now - export.requestedAt < Self.day
            }
            if let known { return (known.key, known.value.requestedAt) }
            if state.exports.count >= Self.maxExports { state.exports = [:] }
            let id = UUID().uuidString.lowercased()
            state.exports[id] = Export(path: path, token: token, request: request, requestedAt: now)
            return (id, now)
        }
        return Self.answer([
            "statusUrl": "\(base)/v1/dataExports/status/\(id)", "requestedAt": TimeText.milliseconds(requestedAt),
        ])
    }

    /// The answer about the state of an export, which at first is being made.
    package func status(of id: String, token: String?, base: String, now: Int64) -> Response {
        let found = state.withLock { state in
            state.exports[id]?.polls += 1
            return state.exports[id]
        }
        // So Apple answers a token that is not that of the request.
        guard let export = found, export.token == token else { return Self.refusal(404, "There is no such export.") }
        var (status, name) = (export.polls == 1 ? "PROCESSING" : "SUCCESS", Self.usualName)
        if let rule = rule(for: .poll) {
            guard case .answer(200, let reason, _) = rule.action else { return Self.refusal(rule) }
            (status, name) = reason == Self.otherName ? ("SUCCESS", Self.otherName) : (reason ?? status, name)
        }
        let answer: JSONValue = ["requestedAt": TimeText.milliseconds(export.requestedAt), "status": status]
        guard status == "SUCCESS" else { return Self.answer(answer) }
        let end = now + Int64(export.request.dataDownloadUrlExpiresInMinutes) * 60_000_000
        let details: JSONValue = [
            name: "\(base)/v1/dataExports/files/\(id)", "expiresAt": TimeText.milliseconds(end),
        ]
        return Self.answer(.joined(answer, ["downloadDetails": details]))
    }

    /// The file of an export, for which Apple needs no token.
    package func file(_ id: String) -> Response {
        if let rule = rule(for: .download) { return Self.refusal(rule) }
        guard let request = state.withLock({ $0.exports[id]?.request }), var time = Self.time(request.startDate) else {
            return Self.refusal(404, "There is no such file.")
        }
        var file = "Push Type,Status,Date (UTC),Count\n"
        while TimeText.day(time) <= request.endDate {
            for (type, status, count) in Self.counts { file += "\(type),\(status),\(TimeText.day(time)),\(count)\n" }
            time += Self.day
        }
        return (200, file)
    }

    /// The rule for a request. Counts the use.
    private func rule(for step: ExportStep) -> AnswerRule? {
        guard let rule = rules.last(where: { $0.exportStep == step }) else { return nil }
        let used = state.withLock { state in
            defer { state.uses[step, default: 0] += 1 }
            return state.uses[step, default: 0]
        }
        return used < rule.times ?? .max ? rule : nil
    }

    private static func refusal(_ rule: AnswerRule) -> Response {
        guard case .answer(let status, let reason, _) = rule.action else {
            return refusal(500, "The export service always answers: the rule of --answer needs a status.")
        }
        return refusal(Int(status), reason ?? "A rule of --answer gives this answer.")
    }

    private static func refusal(_ status: Int, _ reason: String) -> Response { answer(["reason": reason], status) }

    private static func answer(_ body: JSONValue, _ status: Int = 200) -> Response { (status, body.text) }

    private static func time(_ day: String) -> Int64? {
        let bytes = Array((day + "T00:00Z").utf8)[...]
        guard day.utf8.count == 10, case .time(let time) = TimeReader.read(bytes) else { return nil }
        return time
    }

    /// What is wrong with a request, as Apple's page describes it.
    private static func fault(of request: Request, now: Int64) -> String? {
        let today = now / day * day
        guard let start = time(request.startDate), let end = time(request.endDate) else {
            return "startDate and endDate are days such as 2026-01-31."
        }
        if start < today - maxDays * day { return "startDate is more than 30 days in the past." }
        if end <= start { return "endDate is not later than startDate." }
        if end > today - day { return "endDate is not at least one day in the past." }
        let isKept = minutes.contains(request.dataDownloadUrlExpiresInMinutes)
        return isKept ? nil : "dataDownloadUrlExpiresInMinutes is not from 20 to 60."
    }
}

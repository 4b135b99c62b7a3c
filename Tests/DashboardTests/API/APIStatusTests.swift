import CarillonPostgres
import CarillonWeb
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonDashboard

/// The statuses that the OpenAPI document and docs/http.md declare are those that the service answers, and each refusal says what to
/// do.
@Suite struct APIStatusTests {
    private struct Document: Decodable {
        struct Operation: Decodable {
            let operationId: String
            let responses: [String: Response]
        }

        struct Response: Decodable {
            let description: String
        }

        let paths: [String: [String: Operation]]
    }

    private struct Problem: Decodable {
        let title: String
        let status: Int
        let detail: String
        let hint: String?
    }

    /// A request that a route carries out.
    private struct Sample {
        let path: String
        var body: String?
    }

    /// Sends requests to each route, and notes what was answered.
    private struct Survey {
        let port: UInt16
        var answered: [String: Set<String>] = [:]

        mutating func ask(
            _ route: APIRoute,
            _ path: String,
            _ body: String? = nil,
            token: String?,
            app: String = "shop",
            host: String = "localhost",
            type: String = "application/json",
            headers: String = ""
        ) async throws {
            let lines = [
                "\(route.method.rawValue) /v1/apps/\(app)\(path) HTTP/1.1", "Host: \(host)", "Connection: close",
                token.map { "Authorization: Bearer \($0)" }, body.map { "Content-Length: \($0.utf8.count)" },
                body.map { _ in "Content-Type: \(type)" },
            ]
            let head = lines.compactMap(\.self).joined(separator: "\r\n")
            let answer = await RawHTTP.exchange(port, "\(head)\r\n\(headers)\r\n\(body ?? "")")
            let what = "\(head.prefix(300))\n\(body ?? "")\n\(answer.prefix(1_000))"
            let status = String(answer.dropFirst(9).prefix(3))
            answered[route.name, default: []].insert(status)
            guard status >= "400" else { return }
            #expect(answer.contains("\r\nContent-Type: application/problem+json\r\n"), "\(what)")
            let text = try #require(answer.firstRange(of: "\r\n\r\n").map { answer[$0.upperBound...] }, "\(what)")
            let problem = try JSONDecoder().decode(Problem.self, from: Data(text.utf8))
            #expect("\(problem.status)" == status && !problem.title.isEmpty && !problem.detail.isEmpty, "\(what)")
            #expect(problem.hint?.isEmpty == false, "\(what)")
        }
    }

    private static let token = String(repeating: "ab", count: 32)
    private static let activity = #""tokens": ["\#(token)"], "content_state": {"score": 1}"#

    private static let media = #"{"tokens": ["\#(token)"], "attributes": {"id": "radio"}}"#

    private static func samples(message: Int) -> [String: Sample] {
        [
            "enqueue": Sample(path: "/messages", body: #"{"tokens": ["\#(token)"], "alert": "x"}"#),
            "broadcast": Sample(path: "/broadcasts", body: #"{"alert": "x"}"#),
            "get_message": Sample(path: "/messages/\(message)"),
            "find_messages": Sample(path: "/messages?reference=r"),
            "cancel": Sample(path: "/cancel", body: #"{"reference": "r"}"#),
            "trace": Sample(path: "/trace?owner=u"),
            "start_activity": Sample(
                path: "/activities/start",
                body: #"{\#(activity), "attributes_type": "T", "attributes": {}, "title": "x"}"#
            ),
            "update_activity": Sample(path: "/activities/update", body: "{\(activity)}"),
            "end_activity": Sample(path: "/activities/end", body: "{\(activity)}"),
            "start_media": Sample(path: "/media/start", body: media),
            "update_media": Sample(path: "/media/update", body: media),
            "end_media": Sample(path: "/media/end", body: media),
            "request_channel": Sample(path: "/channels", body: #"{"reference": "new"}"#),
            "list_channels": Sample(path: "/channels"),
            "remove_channel": Sample(path: "/channels/old"),
            "publish": Sample(path: "/publish", body: #"{"channel": "ready", "content_state": {"score": 1}}"#),
            "register_token": Sample(path: "/tokens", body: #"{"token": "\#(token)", "owner": "u"}"#),
            "list_tokens": Sample(path: "/tokens?owner=u"),
            "unregister_token": Sample(path: "/tokens?owner=u"),
            "set_badge": Sample(path: "/badge", body: #"{"owner": "u", "badge": 1}"#),
            "forget": Sample(path: "/forget", body: #"{"owner": "u"}"#),
            "get_events": Sample(path: "/events?consumer=c"),
            "acknowledge_events": Sample(path: "/events/acknowledge", body: #"{"consumer": "c", "cursor": ""}"#),
        ]
    }

    /// What only some routes refuse.
    private static let others: [String: [Sample]] = [
        "get_message": [Sample(path: "/messages/999999")], "trace": [Sample(path: "/trace?message_id=999999")],
        "remove_channel": [Sample(path: "/channels/none")],
        "request_channel": [Sample(path: "/channels", body: #"{"reference": "leaving"}"#)],
        "publish": ["none", "asked"].map {
            Sample(path: "/publish", body: #"{"channel": "\#($0)", "content_state": {"score": 1}}"#)
        },
        "forget": [Sample(path: "/forget", body: #"{"owner": "u"}"#)],
        "get_events": [Sample(path: "/events?consumer=none")],
        // A kind that this version does not know is noticed.
        "register_token": [Sample(path: "/tokens", body: #"{"token": "\#(token)", "kind": "spatial"}"#)],
        "acknowledge_events": [Sample(path: "/events/acknowledge", body: #"{"consumer": "none", "cursor": ""}"#)],
    ]

    private static func prepare(_ database: TestDatabase) async throws {
        try await database.run(
            """
            UPDATE carillon.certificates SET certificate = NULL, private_key = 'k', key_id = 'K', team_id = 'T';
            SELECT carillon.subscribe('shop', 'c'), carillon.register_token('shop', 'cd', 'v'),
                carillon.request_channel('shop', 0, 'asked'), carillon.record_channel('shop', 'cmVhZHk=', 0, 'ready'),
                carillon.record_channel('shop', 'b2xk=', 0, 'old'),
                carillon.record_channel('shop', 'bGVhdmluZw==', 0, 'leaving');
            UPDATE carillon.channels SET state = 'removing' WHERE reference = 'leaving'
            """
        )
    }

    @Test
    func `every status that is answered is declared, every declared one is answered, and refusals say what to do`()
        async throws
    {
        try await Visitor.withOperator([]) { shop, client in
            let database = shop.database
            try await Self.prepare(database)
            func token(_ rights: String) async throws -> String {
                let call = "carillon.create_api_token('shop', '\(rights)', rights => '{\(rights)}')"
                return try #require(try await database.value(call))
            }
            let (all, sending, reading) = (
                try await token("send,read,tokens,forget"), try await token("send"), try await token("read")
            )
            let message = try await database.number("SELECT carillon.enqueue('shop', '{ab}', 'x')")
            let samples = Self.samples(message: message)
            var survey = Survey(port: client.port)
            for route in APIRoute.all {
                let sample = try #require(samples[route.name], "\(route.name) has no sample")
                let (path, body) = (sample.path, sample.body)
                let next = path.contains("?") ? "&" : "?"
                let key = route.takesKey ? "Idempotency-Key: \(route.name)\r\n" : ""
                try await survey.ask(route, path, body, token: all, headers: key)
                if let body, route.takesKey {
                    try await survey.ask(route, path, body, token: all, headers: key)
                    let other = #"{"lane": 2, "# + body.dropFirst()
                    try await survey.ask(route, path, other, token: all, headers: key)
                    try await survey.ask(route, path, body, token: all, headers: key + key)
                    let long = String(repeating: "k", count: 256)
                    try await survey.ask(route, path, body, token: all, headers: "Idempotency-Key: \(long)\r\n")
                }
                for token in [nil, "x", route.right == .send ? reading : sending] {
                    try await survey.ask(route, path, body, token: token)
                }
                try await survey.ask(route, path, body, token: all, app: "other")
                try await survey.ask(route, path, body, token: all, host: "evil.example")
                for query in ["x=1", "x=%ff", "x=" + String(repeating: "x", count: 9_000)] {
                    try await survey.ask(route, path + next + query, body, token: all)
                }
                let crowd = [String](repeating: "x=1", count: 2_500).joined(separator: "&")
                try await survey.ask(route, path + next + crowd, body, token: all)
                let announced = "Content-Length: 300000\r\nExpect: 100-continue\r\n"
                try await survey.ask(route, path, token: all, headers: announced)
                let long = "X: \(String(repeating: "x", count: 33_000))\r\n"
                try await survey.ask(route, path, body, token: all, headers: long)
                if body != nil {
                    for broken in ["", "{", "[]", #"{"x": 1}"#, #"{"expires_at": {}, "reference": 1, "owner": 1}"#] {
                        try await survey.ask(route, path, broken, token: all)
                    }
                    try await survey.ask(route, path, body, token: all, type: "text/plain")
                }
                for field in route.parameters + route.members where field.isRequired && !route.isInPath(field) {
                    try await survey.ask(route, String(path.prefix { $0 != "?" }), body.map { _ in "{}" }, token: all)
                }
                // While its history is still being moved here.
                if route.name == "forget" {
                    try await database.run(
                        "INSERT INTO carillon.moves (app_id, is_source, peer) SELECT id, false, '' FROM carillon.apps"
                    )
                }
                for other in Self.others[route.name] ?? [] {
                    try await survey.ask(route, other.path, other.body, token: all)
                }
                if route.name == "forget" { try await database.run("DELETE FROM carillon.moves") }
            }
            for route in APIRoute.all {
                let sample = try #require(samples[route.name])
                for number in 0..<100 where survey.answered[route.name]?.contains("429") != true {
                    try await survey.ask(route, sample.path, sample.body, token: "unknown\(number)")
                }
            }
            try await database.run("REVOKE EXECUTE ON FUNCTION carillon.call_with_token FROM carillon_operator")
            for route in APIRoute.all {
                try await survey.ask(route, samples[route.name]?.path ?? "", samples[route.name]?.body, token: all)
            }
            let text = await client.get("/openapi.json").body
            let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
            let operations = document.paths.values.flatMap(\.values)
            let names = (operations.map(\.operationId).sorted(), APIRoute.all.map(\.name).sorted())
            #expect(names.0 == names.1)
            for operation in operations {
                let (declared, answered) = (Set(operation.responses.keys), survey.answered[operation.operationId])
                #expect(declared == answered, "\(operation.operationId)")
            }
        }
    }
}

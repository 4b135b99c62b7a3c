import Testing

@testable import ApplePushSimulator

/// The simulator's export service of metrics, without a connection.
@Suite struct ExportServiceTests {
    /// 2026-11-30, at noon.
    private static let now: Int64 = 1_796_040_000_000_000
    private static let day: Int64 = 86_400_000_000

    private static func request(
        _ service: ExportService,
        from start: String = "2026-11-28",
        to end: String = "2026-11-29",
        minutes: Int = 60,
        token: String? = "t",
        dataset: String = "deliverymetrics",
        now: Int64 = now
    ) -> ExportService.Response {
        let body = #"{"startDate":"\#(start)","endDate":"\#(end)","dataDownloadUrlExpiresInMinutes":\#(minutes)}"#
        let path = ["ABCDE12345", "com.example.app", dataset]
        return service.request(path, token: token, body: Array(body.utf8), base: "http://h", now: now)
    }

    /// The id of the export that it was given.
    private static func id(_ answer: ExportService.Response) throws -> String {
        String(
            try #require(answer.body.firstMatch(of: #/"statusUrl":"http://h/v1/dataExports/status/([^"]+)"/#)).output.1
        )
    }

    @Test func `an export is made, and its file has a line for each day and count`() throws {
        let service = ExportService([])
        let id = try Self.id(Self.request(service))
        let first = service.status(of: id, token: "t", base: "http://h", now: Self.now)
        #expect(first.status == 200 && first.body.contains(#""status":"PROCESSING""#) && !first.body.contains("http"))
        let second = service.status(of: id, token: "t", base: "http://h", now: Self.now)
        #expect(second.body.contains(#""status":"SUCCESS""#), "\(second.body)")
        #expect(
            second.body.contains(
                #""dataUrl":"http://h/v1/dataExports/files/\#(id)","expiresAt":"2026-11-30T13:00:00.000Z""#
            )
        )
        let lines = service.file(id).body.split(separator: "\n")
        #expect(lines[0] == "Push Type,Status,Date (UTC),Count" && lines.count == 13, "\(lines)")
        #expect(lines.contains("voip,Delivered to Device,2026-11-29,-1"))
    }

    @Test func `the same request within a day gets the same export, and later another one`() throws {
        let service = ExportService([])
        let id = try Self.id(Self.request(service))
        #expect(try Self.id(Self.request(service, now: Self.now + Self.day - 1)) == id)
        #expect(try Self.id(Self.request(service, minutes: 20)) != id)
        #expect(try Self.id(Self.request(service, token: "other")) != id)
        #expect(try Self.id(Self.request(service, to: "2026-11-30", now: Self.now + Self.day)) != id)
    }

    @Test func `what Apple refuses is refused`() throws {
        let service = ExportService([])
        #expect(Self.request(service, token: nil).status == 401)
        #expect(Self.request(service, dataset: "other").status == 404)
        #expect(service.request(["deliverymetrics"], token: "t", body: [], base: "", now: Self.now).status == 400)
        let wrong = [
            Self.request(service, from: "2026-10-30"), Self.request(service, from: "2026-11-29"),
            Self.request(service, to: "2026-11-30"), Self.request(service, from: "28.11.2026"),
            Self.request(service, minutes: 19), Self.request(service, minutes: 61),
        ]
        #expect(wrong.map(\.status) == wrong.map { _ in 400 })
        #expect(Self.request(service, from: "2026-10-31").status == 200)
        let id = try Self.id(Self.request(service))
        #expect(service.status(of: id, token: "other", base: "", now: Self.now).status == 404)
        #expect(service.status(of: "nope", token: "t", base: "", now: Self.now).status == 404)
        #expect(service.file("nope").status == 404)
    }

    @Test func `rules give its errors, and the other spelling of the file's URL`() throws {
        let rules = ["export=401*1", "poll=200:FAILED*1", "download=500:InternalServerError*1"]
        let service = ExportService(try rules.map { try AnswerRule(parsing: $0) })
        #expect(Self.request(service).status == 401)
        let id = try Self.id(Self.request(service))
        #expect(service.status(of: id, token: "t", base: "", now: Self.now).body.contains(#""status":"FAILED""#))
        #expect(service.status(of: id, token: "t", base: "", now: Self.now).body.contains(#""status":"SUCCESS""#))
        #expect(service.file(id) == (500, #"{"reason":"InternalServerError"}"#))
        #expect(service.file(id).status == 200)
        let other = ExportService([try AnswerRule(parsing: "poll=200:dataURL")])
        let answer = other.status(of: try Self.id(Self.request(other)), token: "t", base: "http://h", now: Self.now)
        #expect(answer.body.contains(#""dataURL":"http://h/"#) && !answer.body.contains("dataUrl"), "\(answer.body)")
    }

    @Test func `a rule for the export service does not apply to device tokens`() throws {
        let rule = try AnswerRule(parsing: "export=401")
        var rules = AnswerRules([rule])
        #expect(rules.isEmpty && rule.oddity == nil)
        #expect(rules.judgement(on: Array("e0".utf8).span) == .accepted)
    }
}

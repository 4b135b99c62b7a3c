import CarillonHTTPClient
import Testing

@testable import Carillon

/// What an export service may say, and what follows from it.
@Suite struct ExportRulesTests {
    private static let service = ServiceURL("https://api.example.com/")

    private static func rules(allowsPrivate: Bool = false) throws -> ExportRules {
        let token = MetricsStore.ExportToken(
            app: "shop",
            topic: "com.example.shop",
            token: "s3cret",
            teamID: "ABCDE12345"
        )
        return ExportRules(service: try #require(service), token: token, allowsPrivate: allowsPrivate)
    }

    private static func answer(_ body: String, _ status: Int = 200) -> HTTPOutcome {
        .answered(status: status, retryAfter: nil, body: Array(body.utf8))
    }

    private static func error(_ body: () throws(CommandError) -> Void) -> CommandError? {
        do throws(CommandError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "https://api.example.com.evil.example/x", "https://api.example.com:8443/x", "http://api.example.com/x",
        "https://api.example.com@evil.example/x", "https://evil.example/x", "https://api.example.com\\@evil.example/",
        "https://api.example.com#@evil.example/", "//api.example.com/x", "file:///etc/passwd", "",
        "https://api.example.com/x\r\nX-Evil: 1", "https://API.example.com.",
    ])
    func `the token goes to the service alone`(url: String) throws {
        let rules = try Self.rules()
        let text = url.replacing("\\", with: "\\\\").replacing("\r\n", with: "\\r\\n")
        let error = Self.error { () throws(CommandError) in
            _ = try rules.statusURL(Self.answer("{\"statusUrl\":\"\(text)\"}"))
        }
        #expect(error?.status == .failed, "\(url)")
    }

    @Test func `the status is asked of the service, whose host may be written in capital letters`() throws {
        let rules = try Self.rules()
        for url in ["https://api.example.com/v1/status/7?a=b", "https://API.example.com:443/v1"] {
            #expect(try rules.statusURL(Self.answer("{\"statusUrl\":\"\(url)\"}")).text == url)
        }
    }

    @Test(arguments: ["dataUrl", "dataURL"])
    func `both spellings of the file's URL are known`(name: String) throws {
        let body = "{\"status\":\"SUCCESS\",\"downloadDetails\":{\"\(name)\":\"https://files.example.org/a.csv\"}}"
        let url = try #require(ServiceURL("https://files.example.org/a.csv"))
        #expect(try Self.rules().state(Self.answer(body)) == .ready(url))
        // Where addresses are not checked, no other server is asked.
        let rules = try Self.rules(allowsPrivate: true)
        #expect(Self.error { () throws(CommandError) in _ = try rules.state(Self.answer(body)) }?.status == .failed)
    }

    @Test(
        arguments: [
            ("{\"status\":\"FAILED\"}", 200, 75), ("{\"status\":\"EXPIRED\"}", 200, 75),
            ("{\"status\":\"DONE\"}", 200, 1),
            ("{\"status\":\"SUCCESS\"}", 200, 1), ("<html>", 200, 1),
            ("{\"status\":\"SUCCESS\",\"downloadDetails\":{\"dataUrl\":\"http://a.example/\"}}", 200, 1),
            ("", 302, 1), ("", 400, 78), ("", 401, 78), ("", 404, 78), ("", 418, 69),
        ] as [(String, Int, Int32)]
    )
    func `what is no state of an export ends the fetch`(body: String, status: Int, code: Int32) throws {
        let rules = try Self.rules()
        let error = Self.error { () throws(CommandError) in _ = try rules.state(Self.answer(body, status)) }
        #expect(error?.status.code == code, "\(body) \(status)")
    }

    @Test(arguments: [429, 500, 503])
    func `a service that is busy is asked again`(status: Int) throws {
        #expect(try Self.rules().state(Self.answer("", status)) == .processing)
        #expect(try Self.rules().state(Self.answer("{\"status\":\"PROCESSING\"}")) == .processing)
    }

    @Test func `an answer is shown without the token, and steers no terminal`() throws {
        let rules = try Self.rules()
        let error = Self.error { () throws(CommandError) in
            _ = try rules.statusURL(Self.answer("s3cret \u{1B}[2J" + String(repeating: "x", count: 5_000), 400))
        }
        #expect(error?.status == .configuration)
        #expect(error?.sentence.contains("s3cret") == false && error?.sentence.contains("\u{1B}") == false)
        #expect(error?.sentence.contains("*** \\u{1b}[2J") == true && (error?.sentence.utf8.count ?? 0) < 400)
    }
}

import CarillonIO
import CarillonText
import TestSupport
import Testing

@testable import CarillonWeb

/// Links, paths, queries and forms.
@Suite struct AddressTests {
    @Test(arguments: HostileText.all + [".", "..", "...", "~", "~.", "", "a/b", "a b", "ü", "%2F", "?", "#"])
    func `any text can be a part of a path and a parameter, and is read back`(text: String) throws {
        let link = Link("apps", text, query: ["q": text, "none": nil]).text
        #expect(link.hasPrefix("/apps/") && !link.contains("none") && link.utf8.allSatisfy { (33...126).contains($0) })
        let parts = link.split(separator: "?", maxSplits: 1)
        #expect(!["", ".", ".."].contains(parts[0].dropFirst(6)))
        if text.contains("\0") {
            #expect(PathPattern("/apps/{name}").match(String(parts[0])) == nil)
        } else {
            #expect(PathPattern("/apps/{name}").match(String(parts[0])) == ["name": text])
            #expect(FormFields.read(Array(parts[1].utf8))?.first?.value == text)
        }
    }

    @Test func `a link never leads to another server`() {
        #expect(Link().text == "/")
        #expect(Link("").text == "/~")
        #expect(Link("", "evil.example").text == "/~/evil.example")
        #expect(Link("a").with("b", "1").with("b", "2").text == "/a?b=2")
        #expect(Link("a", query: ["b": "1"]).with("b", nil).text == "/a")
    }

    @Test func `an address that a client sent leads to this server, or nowhere`() {
        for text in ["/", "/apps/a%2Fb?q=1%26", "/apps/~..", "/trace?q=%C3%BC"] {
            #expect(Link(sent: text)?.text == text)
        }
        #expect(Link(sent: "//evil.example/x")?.text == "/~/evil.example/x")
        #expect(Link(sent: "/\\evil.example")?.text == "/%5Cevil.example")
        #expect(Link(sent: "/a\r\nb")?.text == "/a%0D%0Ab")
        for text in ["", "evil.example", "https://evil.example", "javascript:alert(1)", "/%00", "/?%ff"] {
            #expect(Link(sent: text) == nil)
        }
    }

    @Test(arguments: ["%", "%4", "%zz", "%00", "%ff", "%c3", "a%c3%28", "%ed%a0%80"])
    func `invalid escapes are refused`(text: String) {
        #expect(PercentCode.decode(text.utf8) == nil)
        #expect(FormFields.read(Array("a=\(text)".utf8)) == nil)
        #expect(PathPattern("/{a}").match("/" + text) == nil)
    }

    @Test func `a form has fields, plus signs and a bound`() {
        let fields = FormFields.read(Array("a=b+c%2B&d&e=".utf8))
        #expect(fields?.map(\.name) == ["a", "d", "e"] && fields?.map(\.value) == ["b c+", "", ""])
        #expect(FormFields.read(Array(String(repeating: "a=1&", count: 65).utf8)) == nil)
    }

    @Test(arguments: ["/apps", "/apps/", "/apps/a/b", "apps/a", "/Apps/a", "//apps/a", "/apps//"])
    func `a pattern matches the whole path only`(path: String) {
        #expect(PathPattern("/apps/{name}").match(path) == nil)
    }

    @Test func `a fixed path comes before one with parameters`() async {
        let table = RouteTable([
            Route(.get, "/apps/{name}") { request in Response(text: request.pathParameters["name"] ?? "") },
            Route(.get, "/apps/all") { _ in Response(text: "fixed") },
        ])
        for (path, expected) in [("/apps/all", "fixed"), ("/apps/a%2Fb", "a/b"), ("/apps/~..", "..")] {
            guard case .found(let handler, let values) = table.match(method: "GET", path: path) else {
                Issue.record("\(path) is not found")
                continue
            }
            let response = await handler(Request(method: "GET", path: path).with(values))
            #expect(String(decoding: response.body, as: UTF8.self) == expected)
        }
    }

    @Test func `cookies are found by their whole name`() {
        let request = Request(
            method: "GET",
            path: "/",
            headers: [("cookie", "session=a=b; xsession=c"), ("Cookie", "other=d;empty=")]
        )
        #expect(request.cookie("session") == "a=b" && request.cookie("other") == "d" && request.cookie("empty") == "")
        #expect(request.cookie("ession") == nil && request.cookie("Session") == nil)
    }
}

@Suite struct AddressFuzzTests {
    @Test func `any bytes are read as an address or refused`() async {
        await Fuzzing.seeds(500) { seed in
            var random = SeededGenerator(seed: seed)
            let pieces = ["%", "%4", "%41", "%00", "%C3%BC", "/", "..", "~", "&", "=", "+", ";", "ü", "\u{FFFD}", "a"]
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            .joined()
            if let values = PathPattern("/{a}/{b}").match(text) { #expect(values.count == 2, "seed \(seed)") }
            if let decoded = PercentCode.decode(text.utf8) {
                #expect(PercentCode.decode(decoded.percentEncoded().utf8) == decoded, "seed \(seed)")
            }
            _ = FormFields.read(Array(text.utf8))
        }
    }
}

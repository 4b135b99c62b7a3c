package import CarillonIO
import FoundationEssentials
import Glibc
import Testing

/// A dashboard that is run by the program, and a client that writes its requests itself.
package struct DashboardClient {
    package let port: UInt16
    package let program: BackgroundProgram

    package init(port: UInt16, program: BackgroundProgram) {
        self.port = port
        self.program = program
    }

    /// The paths of all pages, in the order in which the dashboard lists them.
    package static let routes: [String] = {
        guard let source = try? GeneratedPage("Sources/Dashboard/Dashboard.swift").text else {
            preconditionFailure("Dashboard.swift cannot be read")
        }
        return source.matches(of: /Page\(path: "([^"]+)"\)/).map { String($0.output.1) }
    }()

    /// Those that need no parameter.
    package static let pages = routes.filter { $0.count { $0 == "/" } == 1 }

    /// - Parameter url: with another login than the superuser only if the test is about that.
    package static func with(
        _ url: String,
        in folder: TemporaryFolder,
        _ words: [String] = [],
        _ body: (DashboardClient, EventLoop) async throws -> Void
    ) async throws {
        try await TestLoop.with { loop in
            let program = try BackgroundProgram(
                ["web", "--http", "127.0.0.1:0"] + words,
                environment: ["DATABASE_URL": TestLogin.web.url(url)],
                in: folder
            )
            let line = try await program.line(containing: "is served", on: loop)
            let port = try #require(line.firstMatch(of: /"port":(\d+)/)).output.1
            try await body(DashboardClient(port: try #require(UInt16(port)), program: program), loop)
            #expect(try await program.end(by: SIGTERM, on: loop) == .status(0), "\(program.said)")
        }
    }

    package struct Answer {
        package let head: String
        package let body: String

        package var status: String { String(head.dropFirst(9).prefix(3)) }

        package func header(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.hasPrefix(name + ": ") }.map {
                String($0.dropFirst(name.count + 2))
            }
        }
    }

    package func get(_ path: String, headers: String = "", json: Bool = false) async -> Answer {
        await ask("GET \(path)", headers: headers + (json ? "Accept: application/json\r\n" : ""))
    }

    package func post(_ path: String, _ form: String, headers: String = "") async -> Answer {
        await ask("POST \(path)", headers: headers + "Content-Length: \(form.utf8.count)\r\n", body: form)
    }

    package func delete(_ path: String, headers: String = "") async -> Answer {
        await ask("DELETE \(path)", headers: headers)
    }

    /// Posts a form that many times at once.
    package func post(_ path: String, _ form: String, times: Int) async {
        let (port, headers) = (port, "Content-Length: \(form.utf8.count)\r\n")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<times {
                group.addTask { _ = await RawHTTP.ask(port, "POST \(path)", headers: headers, body: form) }
            }
        }
    }

    /// As a browser of this machine would name it.
    private func ask(_ line: String, headers: String, body: String = "") async -> Answer {
        let request = "\(line) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\(headers)\r\n\(body)"
        let text = await RawHTTP.exchange(port, request)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return Answer(head: text, body: "") }
        return Answer(head: String(text[..<end.lowerBound]), body: String(text[end.upperBound...]))
    }

    /// The page, read strictly: it has no scripts but its own, and no links to other sites.
    package static func read(_ answer: Answer, _ path: String) throws -> HTMLReading {
        let page = try HTMLReading(answer.body)
        for (name, attributes) in page.elements {
            #expect(!attributes.keys.contains { $0.hasPrefix("on") || $0 == "style" }, "\(path): <\(name)>")
            for key in ["href", "src", "action"] {
                guard let address = attributes[key] else { continue }
                #expect(
                    (address.hasPrefix("/") && !address.hasPrefix("//")) || address == "#main",
                    "\(path): \(address)"
                )
            }
        }
        #expect(page.elements.count { $0.name == "script" } == 1, "\(path)")
        #expect(
            page.elements.first { $0.name == "script" }?.attributes["src"]?.hasPrefix("/assets/dashboard.js?v=") == true
        )
        return page
    }

    package static func isJSON(_ text: String) -> Bool {
        (try? JSONDecoder().decode(Anything.self, from: Data(text.utf8))) != nil
    }

    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }
}

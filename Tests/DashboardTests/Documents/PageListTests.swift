import CarillonWeb
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonDashboard

/// Everything that lists the pages.
@Suite struct PageListTests {
    @Test func `the reference has every page`() throws {
        let reference = try GeneratedPage("docs/http.md").text
        for path in DashboardClient.routes {
            let name = path.replacing("{name}", with: "NAME").replacing("{id}", with: "ID")
            #expect(reference.contains("`\(name)`"), "docs/http.md lacks \(path)")
        }
    }

    private struct Value: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test func `the reference has the members of every page`() async throws {
        let reference = try GeneratedPage("docs/http.md").text
        let section = try #require(reference.split(separator: "\n## ").first { $0.hasPrefix("Reading\n") })
        let rows = section.matches(of: /\n\| `(\/[^`]*)` \|(.*)\| (.*) \|/)
        try await Visitor.withOperator([]) { shop, client in
            try await shop.database.run("SELECT carillon.add_webhook('shop', 'shop', 'https://a.example/')")
            for row in rows where row.output.1 != "/messages/ID" {
                let query = row.output.1 == "/trace" ? "?q=u" : ""
                let path = String(row.output.1.replacing("NAME", with: "shop")) + query
                let answer = await client.get(path, json: true)
                #expect(answer.status == "200", "\(path): \(answer.body)")
                let members = try JSONDecoder().decode([String: Value].self, from: Data(answer.body.utf8)).keys
                let cells = row.output.2 + row.output.3
                for name in members where !name.hasSuffix("_precision") {
                    #expect(cells.contains("`\(name)`") || cells.contains("`\(name)="), "\(path) has \(name)")
                }
            }
            #expect(rows.count > 10)
        }
    }

    @Test func `the benchmark measures every page`() throws {
        let source = try GeneratedPage("Sources/Benchmarks/Web/WebAddresses.swift").text
        let list = try #require(source.split(separator: "return [").last)
        // Some paths contain a name or an id that is known only when it runs.
        let paths = list.matches(of: /"(\/[^"?]*)/).map { String($0.output.1).replacing(/\\\(\w+\)/, with: "*") }
        for path in DashboardClient.routes {
            #expect(paths.contains(path.replacing(/\{\w+\}/, with: "*")), "WebAddresses.swift lacks \(path)")
        }
    }

    @Test func `each page without parameters is a section, and docs/dashboard.md says what it shows`() throws {
        #expect(Set(PageSection.allCases.map { $0.link.text }) == Set(DashboardClient.pages))
        let page = try GeneratedPage("docs/dashboard.md").text
        for name in PageSection.allCases.map(\.rawValue) {
            #expect(page.contains("**\(name)**") || page.contains("\n| \(name) |"), "docs/dashboard.md lacks \(name)")
        }
    }
}

import CarillonWeb
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

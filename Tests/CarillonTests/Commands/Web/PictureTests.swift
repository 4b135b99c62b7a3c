import CarillonIO
import CarillonWeb
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// The pictures of docs/images, of the dashboard that `carillon demo --web` leaves running. `make pictures` takes them.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["PICTURES"] != nil, "'make pictures' runs these"),
    .enabled(if: WebDriver.isInstalled, "Chromium is not installed: apt-get install chromium chromium-driver")
)
struct PictureTests {
    private static let pages: [(name: String, path: String)] = [
        ("overview", "/"), ("apps", "/apps"), ("app", "/apps/shop"), ("find", "/find?q=order+1"),
        ("failures", "/failures"), ("broadcasts", "/broadcasts"), ("scheduled", "/scheduled"), ("tokens", "/tokens"),
        ("channels", "/channels"), ("activities", "/activities"), ("workers", "/workers"),
        ("credentials", "/credentials"), ("changes", "/changes"),
    ]

    @Test(.timeLimit(.minutes(10)))
    func `each page has its picture, in light and dark, wide and narrow`() async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["PICTURES"])
        try await TemporaryFolder.with { temporary in
            try await TestLoop.with { loop in
                let program = try BackgroundProgram(["demo", "--web", "--web-http", "127.0.0.1:0"], in: temporary)
                let line = try await program.line(containing: "in a browser", on: loop)
                let root = String(try #require(line.firstMatch(of: /http:\/\/[^\/]+/)).output)
                try await WebDriver.with(in: temporary, on: loop) { browser in
                    try await browser.open(root)
                    try await loop.eventually("much has happened", within: .seconds(300), every: .seconds(2)) {
                        try await browser.open(root + "/failures")
                        return try await browser.value("return document.querySelectorAll('tbody tr').length >= 45")
                            == "true"
                    }
                    try await Self.change(browser, root)
                    for page in try await Self.pages + Self.others(browser, root) {
                        for (width, isDark) in [(1280, false), (1280, true), (390, false), (390, true)] {
                            try await browser.show(width: width, isDark: isDark)
                            try await browser.open(root + page.path)
                            if page.name == "test" { try await Self.preview(browser) }
                            let file = "\(folder)/\(page.name)-\(isDark ? "dark" : "light")-\(width).png"
                            try await browser.picture().write(to: URL(filePath: file))
                        }
                    }
                }
                _ = try await program.end(by: SIGINT, on: loop)
            }
        }
    }

    /// Pages whose address depends on what has happened.
    private static func others(_ browser: WebDriver, _ root: String) async throws -> [(name: String, path: String)] {
        func path(_ page: String, _ selector: String) async throws -> String {
            try await browser.open(root + page)
            let text = try await browser.value("return document.querySelector(\"\(selector)\").getAttribute('href')")
            return String(text.dropFirst().dropLast())
        }
        let message = try await path("/failures", "td a[href^='/messages/']")
        let broadcast = try await path("/broadcasts", "td a[href^='/messages/']")
        let requeue = try await path("/failures", "a[href^='/failures/requeue']")
        let cancel = broadcast.replacing("?", with: "/cancel?")
        return [("message", message), ("requeue", requeue), ("cancel", cancel), ("test", "/test")]
    }

    /// Something to see among the changes.
    private static func change(_ browser: WebDriver, _ root: String) async throws {
        try await browser.open(root + "/apps/weather")
        try await browser.type("the forecast was wrong", into: "input[name=reason]")
        try await browser.click("form[action='/apps/weather/pause'] button")
        try await browser.see("The app is paused")
        try await browser.click("form[action='/apps/weather/resume'] button")
        try await browser.see("The app sends again")
        try await browser.open(root + "/apps/shop")
        try await browser.type("500", into: "input[name=max_rate]")
        try await browser.click("form[action='/apps/shop/limits'] button")
        try await browser.see("The limits are set")
    }

    private static func preview(_ browser: WebDriver) async throws {
        try await browser.type("9f1c2ab7" + String(repeating: "0", count: 56), into: "input[name=token]")
        try await browser.click("button[name=preview]")
        try await browser.see("What goes out")
    }
}

import CarillonIO
import CarillonWeb
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The pictures of docs/images, of the dashboard that `carillon demo --web` leaves running. `make pictures` takes them.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["PICTURES"] != nil, "'make pictures' runs these"),
    .enabled(if: WebDriver.isInstalled, "Chromium is not installed: apt-get install chromium chromium-driver")
)
struct PictureTests {
    @Test(.timeLimit(.minutes(10))) func `each picture that a page of the documentation shows is taken`() async throws {
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
                    for picture in try ShownPicture.all {
                        let address = try await Self.address(of: picture.page, browser, root)
                        try await browser.show(width: picture.width, isDark: picture.isDark)
                        try await browser.open(root + address)
                        if picture.page == "test" { try await Self.preview(browser) }
                        try await browser.picture().write(to: URL(filePath: "\(folder)/\(picture.file)"))
                    }
                }
                _ = try await program.end(by: SIGINT, on: loop)
            }
        }
    }

    private static func address(of page: String, _ browser: WebDriver, _ root: String) async throws -> String {
        switch page {
        case "overview": return "/"
        case "app": return "/apps/shop"
        case "message":
            try await browser.open(root + "/failures")
            let link = "return document.querySelector(\"td a[href^='/messages/']\").getAttribute('href')"
            return String(try await browser.value(link).dropFirst().dropLast())
        default: return "/" + page
        }
    }

    /// Something to see among the changes.
    private static func change(_ browser: WebDriver, _ root: String) async throws {
        try await browser.open(root + "/apps/weather")
        try await browser.type("the forecast was wrong", into: "input[name=reason]")
        try await browser.click("form[action='/apps/weather/pause'] button")
        try await browser.see("The app is paused")
        try await browser.click("form[action='/apps/weather/resume'] button")
        try await browser.see("The app is resumed")
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

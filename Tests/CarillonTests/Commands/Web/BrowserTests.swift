import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// The dashboard in a real browser: Chromium without a window. `make browse` runs it.
@Suite(.enabled(if: Browser.isWanted, "'make browse' runs these"), .serialized)
struct BrowserTests {
    @Test(.enabled(if: Browser.path != nil, "Chromium is not installed: apt-get install chromium"))
    func `no hostile text runs as a script on any page, and the dashboard's own does`() async throws {
        let mark = "document.documentElement.dataset.broken=1"
        let texts = [
            "<img src=x onerror=\(mark)>", "<script>\(mark)</script>", "\"><svg onload=\(mark)>",
            "' onmouseover='\(mark)",
            "javascript:\(mark)", "</title><script>\(mark)</script>",
        ]
        try await Shop.with { shop in
            let list = texts.map { "'" + $0.replacing("'", with: "''") + "'" }.joined(separator: ",")
            try await shop.database.run(
                """
                INSERT INTO carillon.apps (name, certificate_id, paused, paused_reason)
                SELECT t, 1, true, t FROM unnest(ARRAY[\(list)]) t;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, reference)
                SELECT 5000 + a.id, a.id, a.name, a.name, a.name FROM carillon.apps a;
                INSERT INTO carillon.results (message_id, app_id, reference, failed)
                SELECT 5000 + a.id, a.id, a.name, 1 FROM carillon.apps a;
                INSERT INTO carillon.workers (name, host, lease_until) SELECT a.name, a.name, now() FROM carillon.apps a
                """
            )
            try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
                let app = Self.encoded(texts[0])
                let paths = DashboardClient.pages + ["/apps/\(app)", "/messages/5002?app=\(app)", "/find?q=\(app)"]
                for path in paths {
                    let page = try await Browser.contents("http://127.0.0.1:\(client.port)\(path)", in: shop.folder)
                    #expect(page.contains("<h1>") && !page.contains("data-broken"), "\(path)")
                    // The script has put each time into the viewer's form.
                    #expect(!page.contains(#/<time [^>]*>[^<]* UTC<\/time>/#), "\(path)")
                }
            }
        }
    }

    @Test(.enabled(if: Browser.path != nil, "Chromium is not installed: apt-get install chromium"))
    func `a page looks again by itself`() async throws {
        try await Shop.with { shop in
            try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
                let address = "http://127.0.0.1:\(client.port)/workers"
                #expect(
                    try await Browser.contents(address, in: shop.folder, seconds: 0).contains("as of the last load")
                )
                let later = try await Browser.contents(address, in: shop.folder, seconds: 30)
                #expect(later.contains(#/id="live"[^>]*>as of \d/#))
            }
        }
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

private enum Browser {
    static let isWanted = ProcessInfo.processInfo.environment["BROWSE"] != nil

    static let path: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// The page as it is after so much time of its own, which a browser without a window can let pass at once.
    static func contents(_ address: String, in folder: TemporaryFolder, seconds: Int = 2) async throws -> String {
        let output = folder.file("page-" + UUID().uuidString)
        var command = ChildProcess.Command(
            try #require(path),
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder.file("profile"),
                "--virtual-time-budget=\(seconds * 1_000)", "--dump-dom", address,
            ]
        )
        command.environment = ProgramRun.environment([:])
        command.output = .file(output)
        command.error = .nothing
        let child = try ChildProcess(command)
        let exit = try await TestLoop.with { loop in try await child.wait(on: loop, until: .now + .seconds(60)) }
        #expect(exit == .status(0))
        return try folder.read(String(output.split(separator: "/").last ?? ""))
    }
}

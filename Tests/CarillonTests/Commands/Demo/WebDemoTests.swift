import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct WebDemoTests {
    @Test func `the demo leaves a dashboard with a day of three apps, and ends without an error`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let program = try BackgroundProgram(["demo", "--web", "--web-http", "127.0.0.1:0"], in: folder)
                let line = try await program.line(containing: "in a browser", on: loop)
                let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\//)).output.1
                let client = DashboardClient(port: try #require(UInt16(port)), program: program)
                let overview = await client.get("/", json: true)
                #expect(overview.status == "200")
                for app in ["shop", "news", "weather"] { #expect(overview.body.contains("\"\(app)\"")) }
                let day = await client.get("/apps/shop?over=day", json: true)
                let filled = day.body.matches(of: /"sent":[1-9]\d*/).count
                #expect(filled >= 70, "each 20 minutes have counts: \(day.body)")
                try await loop.eventually("pushes fail as in an ordinary hour") {
                    await client.get("/failures", json: true).body.contains("BadDeviceToken")
                }
                try await loop.eventually("the workers say how many connections they have") {
                    await client.get("/workers", json: true).body.matches(of: /"connections":[1-9]/).count == 2
                }
                try await loop.eventually("three channels are made") {
                    await client.get("/channels", json: true).body.matches(of: /"state":"ready"/).count == 3
                }
                #expect(try await program.end(by: SIGINT, on: loop) == .status(0), "\(program.said)")
            }
        }
    }
}

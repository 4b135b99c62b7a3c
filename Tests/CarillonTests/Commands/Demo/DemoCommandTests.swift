import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct DemoCommandTests {
    @Test func `the demo sends and reaps, and its totals add up`() async throws {
        let run = try await ProgramRun.run(["demo", "--messages", "400"])
        #expect(run.status == 0)
        for word in ["sent", "failed, Unregistered", "failed, BadDeviceToken", "retried", "reaped", "ok "] {
            #expect(run.output.contains(word))
        }
        #expect(!run.output.contains("WRONG"))
    }

    @Test func `an interrupted demo cleans up behind itself`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let run = try BackgroundProgram(["demo", "--messages", "200000"], in: folder)
                let line = try await run.line(containing: "PostgreSQL runs in ", on: loop)
                let place = line.split(separator: "PostgreSQL runs in ")[0].dropLast()
                #expect(try await run.end(by: SIGINT, on: loop) == .status(75))
                #expect(access(String(place), F_OK) != 0)
            }
        }
    }
}

import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// Commands that run while something happens to the database.
@Suite struct LongCommandCases {
    @Test func `D32: carillon status --watch continues after a restart of the database`() async throws {
        try await Scene.with(on: .own(.fast)) { scene in
            let watch = try BackgroundProgram(
                ["status", "--watch", "--interval", "100ms", "--json"],
                environment: ["DATABASE_URL": scene.cluster.url()],
                in: scene.folder
            )
            _ = try await watch.line(containing: "\"apps\"", on: scene.loop)
            try await scene.cluster.restart(.fast)
            _ = try await watch.line(containing: "Trying again.", on: scene.loop)
            try await scene.client.run("INSERT INTO carillon.apps (name) VALUES ('afterwards')")
            _ = try await watch.line(containing: "afterwards", on: scene.loop)
            #expect(try await watch.end(by: SIGTERM, on: scene.loop) == .status(0))
        }
    }

    @Test func `D33: carillon check works where nothing may be written`() async throws {
        try await Scene.with(on: .own(.fast)) { scene in
            try await scene.client.run("ALTER SYSTEM SET default_transaction_read_only = on")
            try await scene.client.run("SELECT pg_reload_conf()")
            let url = ["DATABASE_URL": scene.cluster.url()]
            try await scene.loop.eventually("the setting is read") {
                try await ProgramRun.run(["check"], environment: url).output.contains("accepts no writes")
            }
            let check = try await ProgramRun.run(["check"], environment: url)
            #expect(check.output.contains("ok       credential") && check.output.contains("ok       gateway"))
            #expect(check.status == 0, "\(check.output)")
        }
    }
}

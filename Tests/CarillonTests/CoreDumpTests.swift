import CarillonIO
import Glibc
import TestSupport
import Testing

/// A core dump would hold keys and passwords.
@Suite(.shop) struct CoreDumpTests {
    /// Allows core dumps as far as this machine does. Where its hard limit is 0, these tests prove nothing.
    private static let allowing = "ulimit -S -c $(ulimit -H -c)"

    @Test(arguments: [
        (["worker"], "The worker has started"), (["web", "--http", "127.0.0.1:0"], "The dashboard is served"),
        (["pyapns", "--port", "0"], "Listening for calls"),
    ])
    func `a service may leave no core dump`(words: [String], start: String) async throws {
        try await TestLoop.with { loop in
            let program = try self.program(words)
            _ = try await program.line(containing: start, on: loop)
            try Self.expectNoDump(of: program)
            #expect(try await program.end(by: SIGTERM, on: loop) == .status(0), "\(program.said)")
        }
    }

    @Test func `a command may leave no core dump`() async throws {
        try await shop.database.session { other in
            try await other.run("BEGIN; LOCK TABLE carillon.apps")
            try await TestLoop.with { loop in
                let program = try self.program(["app", "list"])
                _ = try await program.line(containing: "Waiting for a lock", on: loop)
                try Self.expectNoDump(of: program)
                try await other.run("ROLLBACK")
                #expect(try await program.end(on: loop) == .status(0), "\(program.said)")
            }
        }
    }

    private func program(_ words: [String]) throws -> BackgroundProgram {
        let environment = ["DATABASE_URL": TestLogin.url(shop.database.url, running: words)]
        return try BackgroundProgram(words, environment: environment, in: shop.folder, shell: Self.allowing)
    }

    /// proc(5): the soft limit comes first.
    private static func expectNoDump(of program: BackgroundProgram) throws {
        let limits = try TemporaryFolder.text(of: "/proc/\(program.processID)/limits")
        let soft = try #require(limits.firstMatch(of: /Max core file size +(\w+)/)).output.1
        #expect(soft == "0", "\(limits)")
    }
}

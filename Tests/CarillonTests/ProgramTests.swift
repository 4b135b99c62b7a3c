import TestSupport
import Testing

@testable import Carillon

@Suite struct ProgramTests {
    @Test func `the version is printed, for people and for programs`() async throws {
        let text = try await ProgramRun.run(["version"])
        #expect(text.status == 0 && text.errors == "")
        #expect(text.output.hasPrefix("carillon \(Program.version)\n"))
        let json = try await ProgramRun.run(["--version", "--json"])
        #expect(json.output.hasPrefix("{\"carillon\":\"\(Program.version)\""))
    }

    @Test func `help goes to standard output and is a success`() async throws {
        for words in [["--help"], ["help"], ["credential", "--help"], ["help", "send"]] {
            let run = try await ProgramRun.run(words)
            #expect(run.status == 0 && run.errors == "")
            #expect(run.output.contains("Usage: carillon"))
        }
    }

    @Test func `no command at all is answered with help, and is a failure`() async throws {
        let run = try await ProgramRun.run([])
        #expect(run.status == 2 && run.output == "")
        #expect(run.errors.contains("Usage: carillon"))
    }

    @Test func `a misspelt flag is refused with what was meant`() async throws {
        let run = try await ProgramRun.run(["send", "--ap", "x"])
        #expect(run.status == 2 && run.output == "")
        #expect(run.errors.contains("has no option --ap. Did you mean --app?"))
    }

    @Test func `no colour is used where no terminal is`() async throws {
        let run = try await ProgramRun.run(["nonsense"])
        #expect(!run.errors.contains("\u{1B}"))
    }

    @Test func `a database that is not there is unavailable, and its password is not repeated`() async throws {
        let run = try await ProgramRun.run(
            ["app", "list", "--database", "postgresql://user:canary-password@127.0.0.1:1/db"]
        )
        #expect(run.status == 69 && run.output == "")
        #expect(run.errors.contains("127.0.0.1") && !run.errors.contains("canary"))
    }

    @Test func `a database URL in the wrong place does not have its password repeated`() async throws {
        let url = "postgresql://user:canary-password@127.0.0.1:1/db"
        for words in [["worker", url], [url], ["app", "list", "--database", url, "--databse", url]] {
            let run = try await ProgramRun.run(words)
            #expect(run.status == 2)
            #expect(!run.errors.contains("canary"))
        }
    }

    @Test(arguments: ["nonsense", "postgres//user:canary@host/db", "postgresql://user:canary@127.0.0.1:nope/db"])
    func `a connection string that is none is a matter of configuration`(text: String) async throws {
        let run = try await ProgramRun.run(["app", "list"], environment: ["DATABASE_URL": text])
        #expect(run.status == 78)
        #expect(run.errors.contains("postgresql://") && !run.errors.contains("canary"))
    }

    @Test func `a host that has no address is named`() async throws {
        let run = try await ProgramRun.run(["app", "list", "--database", "postgresql://nowhere.invalid/db"])
        #expect(run.status == 69)
        #expect(run.errors.contains("nowhere.invalid"))
    }

    @Test func `asking a worker that is not there is unavailable`() async throws {
        let run = try await ProgramRun.run(["healthcheck", "--http", "127.0.0.1:1"])
        #expect(run.status == 69)
    }
}

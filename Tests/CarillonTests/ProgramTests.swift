import CarillonIO
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
    func `an invalid connection string is a matter of configuration`(text: String) async throws {
        let run = try await ProgramRun.run(["app", "list"], environment: ["DATABASE_URL": text])
        #expect(run.status == 78)
        #expect(run.errors.contains("postgresql://") && !run.errors.contains("canary"))
    }

    @Test(arguments: [["version"], ["--help"], ["migrate", "sql"], ["version", "--json"]])
    func `a full disk under the output is a failure`(words: [String]) async throws {
        let run = try await ProgramRun.run(words, output: .file("/dev/full"))
        #expect(run.status == 1 && run.errors.contains("the disk is full"))
    }

    @Test func `a full disk under standard error is a failure too`() async throws {
        let run = try await ProgramRun.run(
            ["version"],
            environment: ["CARILLON_NONSENSE": "1"],
            errors: .file("/dev/full")
        )
        #expect(run.status == 1 && run.output.hasPrefix("carillon "))
    }

    @Test func `several databases where one is worked on are refused with a sentence`() async throws {
        let urls = "postgresql://u:canary@127.0.0.1:1/a postgresql://u:canary@127.0.0.1:1/b"
        for words in [["app", "list"], ["adopt"], ["migrate", "up"], ["send", "--app", "a", "--token", "aa"]] {
            let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": urls])
            #expect(run.status == 2 && run.errors.contains("DATABASE_URL names several databases"))
            #expect(!run.errors.contains("canary"))
        }
    }

    @Test func `several databases in one argument are served like several arguments`() async throws {
        let urls = "postgresql://u:canary@127.0.0.1:1/a postgresql://u:canary@127.0.0.1:1/b"
        let run = try await ProgramRun.run(["check", "--database", urls])
        #expect(run.status == 69 && run.output.contains("127.0.0.1:1/a: ") && run.output.contains("127.0.0.1:1/b: "))
        #expect(!run.output.contains("canary"))
    }

    @Test
    func `URLs that are separated by commas are refused, and the sentence says how to separate them`() async throws {
        let urls = "postgresql://u:canary@127.0.0.1:1/a,postgresql://u:canary@127.0.0.1:1/b"
        for words in [["app", "list"], ["check"], ["worker", "--once"]] {
            let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": urls])
            #expect(run.status == 2 && run.errors.contains("DATABASE_URL names several databases"), "\(run.errors)")
            #expect(run.errors.contains("comma") && !run.errors.contains("canary"))
        }
    }

    @Test func `a misspelt variable is warned of, with what was meant`() async throws {
        let run = try await ProgramRun.run(
            ["version"],
            environment: ["CARILLON_MAX_IN_FLIHGT": "7", "CARILLON_PASSPHRASE_FILE": "x", "CARILLON_LEASE": "20s"]
        )
        #expect(run.status == 0)
        #expect(run.errors.contains("CARILLON_MAX_IN_FLIHGT has no effect. Did you mean CARILLON_MAX_IN_FLIGHT?"))
        #expect(!run.errors.contains("PASSPHRASE") && !run.errors.contains("LEASE"))
    }

    @Test func `a version that the schema does not have is refused wherever it may stand`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            for words in [
                ["up", "--to-version", "9999"], ["down", "--to-version", "9999", "--yes"],
                ["sql", "--to-version", "9999"],
                ["sql", "--after", "9999"],
            ] {
                let run = try await ProgramRun.run(["migrate"] + words, environment: ["DATABASE_URL": url])
                #expect(run.status == 2 && run.errors.contains("no version 9999"), "\(words): \(run.errors)")
            }
        }
    }

    @Test(.shop)
    func `going up to a version below the schema's says that it is above, and changes nothing`() async throws {
        let run = try await shop.run("migrate", "up", "--to-version", "5")
        #expect(run.status == 0 && run.output.contains("already; 'carillon migrate down --to-version 5' goes back."))
        #expect(try await shop.run("migrate", "up").output == "The schema is up to date.\n")
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

import CarillonIO
import CarillonPostgres
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// docs/tutorial.md, followed step by step.
@Suite struct TutorialTests {
    /// A box of the page.
    private struct Box {
        let language: Substring
        var text: String
        /// What the page says that it prints.
        let shown: Substring

        /// It runs until it is stopped, in a terminal of its own.
        var isService: Bool {
            let words = text.split(whereSeparator: \.isWhitespace).dropFirst().map(String.init)
            return Command.all.contains { $0.isService && words.starts(with: $0.words) }
        }
    }

    private static func boxes(of page: Substring) -> [Box] {
        page.matches(of: #/```(sh|sql)\n((?:[^`]|`(?!``))*)```(?:\n\n```\n((?:[^`]|`(?!``))*)```)?/#).map { match in
            Box(language: match.output.1, text: String(match.output.2), shown: match.output.3 ?? "")
        }
    }

    /// Text without what differs between two runs: the numbers, and the width of columns.
    private static func lasting(_ text: Substring) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").replacing(#/[0-9]+/#, with: "0")
    }

    /// Whether it is what the page shows: all of it, except for what `…` stands for.
    private static func fits(_ said: String, _ shown: Substring) -> Bool {
        var parts = shown.split(separator: "…", omittingEmptySubsequences: false).map { lasting($0) }
        let last = parts.removeLast()
        var rest = lasting(said[...])[...]
        guard let first = parts.first else { return rest == last }
        guard rest.hasPrefix(first) else { return false }
        rest = rest.dropFirst(first.count)
        for part in parts.dropFirst() {
            guard let range = rest.firstRange(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    @Test func `every command of the tutorial does what it says`() async throws {
        let page = try GeneratedPage("docs/tutorial.md").text
        let production = try #require(page.firstRange(of: "## 7. Go to production"))
        try await TestDatabase.with(.nothing) { database in
            try await TemporaryFolder.with { folder in
                try await TestLoop.with { loop in
                    try await attempt {
                        try await Self.follow(page[..<production.lowerBound], database, folder, loop)
                        // The simulator and the worker have been stopped. The key from Apple is another one.
                        _ = try await Self.run(
                            Box(language: "sh", text: "cp local.p8 AuthKey_ABC123DEFG.p8", shown: ""),
                            database,
                            folder
                        )
                        try await Self.follow(page[production.lowerBound...], database, folder, loop)
                        let app = "SELECT count(*) FROM carillon.apps WHERE gateway IS NULL AND gateway_ca IS NULL"
                        #expect(try await database.number(app) == 1)
                    } finally: {
                        try await database.run("DROP ROLE IF EXISTS acme_site, acme_push")
                    }
                }
            }
        }
    }

    /// Runs the boxes one after the other, and stops the services among them at the end.
    private static func follow(
        _ page: Substring,
        _ database: TestDatabase,
        _ folder: TemporaryFolder,
        _ loop: EventLoop
    ) async throws {
        var services: [BackgroundProgram] = []
        var port = "2197"
        for var box in boxes(of: page) {
            // Somebody else may have these ports.
            box.text = box.text.replacing(
                "--port 2197",
                with: "--port 0"
            ).replacing("127.0.0.1:9464", with: "127.0.0.1:0").replacing("localhost:2197", with: "localhost:\(port)")
            guard box.isService else {
                if box.text.contains("pushes.jsonl") {
                    try await loop.eventually("the simulator has written its line") {
                        try folder.read("pushes.jsonl").hasSuffix("\n")
                    }
                }
                let said = try await run(box, database, folder)
                try await expect(said, after: box, database, loop)
                continue
            }
            let words = box.text.split(whereSeparator: \.isWhitespace).dropFirst().map(String.init)
            let service = try BackgroundProgram(words, environment: ["DATABASE_URL": database.url], in: folder)
            services.append(service)
            // A person would not be faster.
            if words.first == "worker" { _ = try await service.line(containing: "The worker has started", on: loop) }
            if words.first == "simulator" {
                let line = try await service.line(containing: "is listening", on: loop)
                port = String(line.split(separator: "\"port\":").last?.prefix { $0.isNumber } ?? "")
            }
        }
        for service in services.reversed() { #expect(try await service.end(by: SIGINT, on: loop) == .status(0)) }
    }

    /// What the page says of the box.
    private static func expect(
        _ said: String,
        after box: Box,
        _ database: TestDatabase,
        _ loop: EventLoop
    ) async throws {
        // On a slow machine, `send` says what it waits for.
        let usual = said.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("Waiting: ") }
        #expect(box.shown.isEmpty || fits(usual.joined(separator: "\n"), box.shown), "\(box.shown)\n\(said)")
        if box.text.contains("'order 7');\nCOMMIT") {
            try await eventually(
                "SELECT state = 'sent' FROM carillon.message_status(reference => 'order 7')",
                database,
                loop
            )
        }
        if box.text.contains("carillon migrate up") {
            // On a slow machine, the worker's own pass would come before the one of the page.
            try await database.run("UPDATE carillon.fleet_tasks SET next_run = now() + every WHERE name = 'feedback'")
        }
        if box.text.contains("'midnight'") {
            try await eventually(
                "SELECT failed = 1 AND sent = 1 FROM carillon.message_status(reference => 'midnight')",
                database,
                loop
            )
        }
    }

    private static func eventually(_ condition: String, _ database: TestDatabase, _ loop: EventLoop) async throws {
        try await loop.eventually(condition) {
            try await database.value(condition) == "true"
        }
    }

    private static func run(_ box: Box, _ database: TestDatabase, _ folder: TemporaryFolder) async throws -> String {
        let folderOfProgram = try ProgramRun.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        var command = ChildProcess.Command("bash", ["-euo", "pipefail", "-c", box.text])
        if box.language == "sql" {
            command = ChildProcess.Command("psql", ["-X", "-v", "ON_ERROR_STOP=1", "-c", box.text, database.url])
        }
        var environment = ProgramRun.environment(["DATABASE_URL": database.url, "CARILLON_WAIT": "2m"])
        environment["PATH"] = folderOfProgram + ":" + (environment["PATH"] ?? "")
        command.environment = environment
        command.directory = folder.path
        command.output = .file(folder.file("said"))
        command.error = .file(folder.file("said"))
        unlink(folder.file("said"))
        let child = try ChildProcess(command)
        let exit = try await TestLoop.with { loop in try await child.wait(on: loop, until: .now + .seconds(180)) }
        let said = try folder.read("said")
        #expect(exit == .status(0), "\(box.text)\n\(said)")
        return said
    }
}

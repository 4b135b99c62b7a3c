import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

@Suite struct ManualPageTests {
    private static let formatter = "/usr/bin/groff"
    private let page = ManualPage(commands: Command.all).text

    /// As a reader sees it.
    private static func plain(_ text: some StringProtocol) -> String {
        let escapes = ["\\-": "-", "\\fB": "", "\\fI": "", "\\fR": "", "\\e": "\\", "\\(aq": "'", "\\&": ""]
        return escapes.reduce(String(text)) { $0.replacing($1.key, with: $1.value) }
    }

    @Test(arguments: Command.all)
    func `the page names each option of a command, its variable and its default`(command: Command) throws {
        let sections = page.split(separator: "\n.SS ").dropFirst().map(Self.plain)
        let name = command.words.joined(separator: " ")
        let section = try #require(sections.first { $0.hasPrefix(name + "\n") || $0.hasPrefix(name + " ") })
        for option in command.required + command.options {
            for flag in option.flags { #expect(section.contains("--\(flag)")) }
            #expect(section.contains(option.variable))
            if let fallback = option.fallback { #expect(section.contains("default \(fallback)")) }
        }
        for argument in command.arguments { #expect(section.contains(argument.placeholder)) }
    }

    @Test func `the page names the options that every command takes, and each exit status`() {
        let rest = Self.plain(page.split(separator: "\n.SH OPTIONS\n", maxSplits: 1).last ?? "")
        for option in Option.common { #expect(rest.contains("--\(option.flag)")) }
        for status in ExitStatus.all { #expect(rest.contains("\(status.code)\n\(status.meaning)")) }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: formatter), "groff is not installed"))
    func `the formatter has nothing to say`() async throws {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("carillon.1", page)
            var command = ChildProcess.Command(Self.formatter, ["-man", "-ww", "-Tutf8", "-Kutf8", file])
            command.environment = ProgramRun.environment([:])
            command.output = .file(folder.file("shown"))
            command.error = .file(folder.file("said"))
            let child = try ChildProcess(command)
            let exit = try await TestLoop.with { try await child.wait(on: $0, until: .now + .seconds(60)) }
            #expect(exit == .status(0))
            #expect(try folder.read("said") == "")
            #expect(try folder.read("shown").contains("carillon"))
        }
    }

    @Test func `the command prints the page`() async throws {
        let run = try await ProgramRun.run(["man"])
        #expect(run.status == 0 && run.output == page)
    }
}

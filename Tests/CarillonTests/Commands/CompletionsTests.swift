import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// What shells make of the scripts. The words that begin all commands are checked with the groups.
@Suite struct CompletionsTests {
    private let completions = Completions(commands: Command.all)

    private static func isInstalled(_ shell: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)")
    }

    /// What the shell prints when it has read the completions and then runs the script.
    private func run(_ shell: Completions.Shell, _ script: String) async throws -> [String] {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("completions", completions.script(for: shell))
            // These are there only while a user types.
            let stubs = shell == .fish ? "" : "compdef() { :; }; compopt() { :; }\n"
            let path = try folder.write("script", stubs + "source \(file)\n\(script)\n")
            var command = ChildProcess.Command("/usr/bin/\(shell.rawValue)", [path])
            command.environment = ProgramRun.environment([:])
            command.directory = folder.path
            command.output = .file(folder.file("output"))
            command.error = .file(folder.file("errors"))
            let child = try ChildProcess(command)
            let exit = try await TestLoop.with { try await child.wait(on: $0, until: .now + .seconds(120)) }
            #expect(exit == .status(0))
            #expect(try folder.read("errors") == "")
            return try folder.read("output").split(separator: "\n").map(String.init)
        }
    }

    /// All lines, in the order of the table: "credential import --file".
    private static func offered(by command: Command) -> [String] {
        command.allOptions.flatMap(\.flags).map { "\(command.words.joined(separator: " ")) --\($0)" }
    }

    @Test func `bash offers every option of every command, and every command`() async throws {
        var script = """
            complete() { COMP_WORDS=(carillon $1 "$2"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _carillon
                for word in "${COMPREPLY[@]}"; do echo "$1 $word"; done; }

            """
        for command in Command.all { script += "complete '\(command.words.joined(separator: " "))' --\n" }
        for words in [""] + completions.groups { script += "complete '\(words)' ''\n" }
        let lines = try await run(.bash, script)
        for command in Command.all {
            for option in Self.offered(by: command) { #expect(lines.contains(option)) }
            let start = command.words.count == 1 ? " " : ""
            #expect(lines.contains(start + command.words.joined(separator: " ")))
        }
    }

    @Test func `bash offers the values of an option, after a space and after an equals sign`() async throws {
        let lines = try await run(
            .bash,
            """
            complete() { COMP_WORDS=(carillon "$@"); COMP_CWORD=$#; _carillon; echo "${COMPREPLY[*]}"; }
            complete worker --log-level w
            complete worker --log-level = w
            complete worker --log-level =
            complete --log-level info app pa
            complete tokens import scr
            complete credential import --file scr
            complete send --app scr
            """
        )
        let all = "debug info warning error"
        #expect(lines == ["warning", "warning", all, "pause", "script", "script"])
    }

    @Test(.enabled(if: isInstalled("fish"), "fish is not installed"))
    func `fish offers every option of every command, and every command`() async throws {
        var script = ""
        for words in Command.all.map({ $0.words.joined(separator: " ") }) {
            script += "complete -C 'carillon \(words) --' | string replace -r '^' '\(words) '\n"
        }
        for group in completions.groups {
            script += "complete -C 'carillon \(group) ' | string replace -r '^' '\(group) '\n"
        }
        script += "complete -C 'carillon '\ncomplete -C 'carillon worker --log-format '\n"
        let lines = try await run(.fish, script).map { String($0.split(separator: "\t")[0]) }
        for command in Command.all {
            for option in Self.offered(by: command) { #expect(lines.contains(option)) }
            #expect(lines.contains(command.words.joined(separator: " ")))
        }
        #expect(lines.suffix(3).sorted() == ["auto", "json", "text"])
    }

    @Test(.enabled(if: isInstalled("zsh"), "zsh is not installed"))
    func `zsh offers every option of every command, and every command`() async throws {
        var script = """
            _arguments() { for spec; do print -r -- "$place $spec"; done }
            _describe() { for name in $names; do print -r -- "$place ${name%%:*}"; done }
            at() { place=$1; words=(carillon ${=1} ''); CURRENT=$#words; _carillon }

            """
        for command in Command.all { script += "at '\(command.words.joined(separator: " "))'\n" }
        for words in completions.groups + [""] { script += "at '\(words)'\n" }
        let lines = try await run(.zsh, script)
        for command in Command.all {
            for option in Self.offered(by: command) {
                #expect(
                    lines.contains { line in
                        let line = line.replacing(" *--", with: " --")
                        return line.hasPrefix(option + "[") || line.hasPrefix(option + "=[")
                    }
                )
            }
            let start = command.words.count == 1 ? " " : ""
            #expect(lines.contains(start + command.words.joined(separator: " ")))
        }
    }

    @Test func `the command prints the script of a shell, and names the shells it knows`() async throws {
        for shell in Completions.Shell.allCases {
            let run = try await ProgramRun.run(["completions", shell.rawValue])
            #expect(run.status == 0 && run.output == completions.script(for: shell))
        }
        let run = try await ProgramRun.run(["completions", "ksh"])
        #expect(run.status == 2 && run.errors.contains("bash, zsh or fish, not 'ksh'"))
    }
}

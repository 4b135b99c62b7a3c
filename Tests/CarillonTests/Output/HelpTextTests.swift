import Testing

@testable import Carillon

@Suite struct HelpTextTests {
    private let help = HelpText(commands: Command.all)

    @Test(arguments: Command.all)
    func `each command is listed, with its sentence`(command: Command) {
        let overview = help.text(for: [])
        #expect(overview.contains("  " + command.words.joined(separator: " ") + " "))
        #expect(overview.contains(command.summary))
    }

    @Test(arguments: Command.all)
    func `the help on a command names each option, its variable and its default`(command: Command) {
        let text = help.text(for: command.words).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.hasPrefix("Usage: \(command.title)"))
        for option in command.allOptions {
            for flag in option.flags { #expect(text.contains("--\(flag)")) }
            #expect(text.contains(option.variable))
            #expect(text.contains(option.help))
            if let fallback = option.fallback { #expect(text.contains("default \(fallback)")) }
            if option.secrecy != .open { #expect(text.contains(option.variable + "_FILE")) }
        }
    }

    @Test(arguments: Command.all.map(\.words) + [[]])
    func `no line is too long for a terminal`(words: [String]) {
        for line in help.text(for: words).split(separator: "\n") { #expect(line.count <= 120) }
    }

    @Test func `a secret that is never an argument is only offered as a file`() {
        let command = Command("x", roles: [], summary: "X.", options: [.passphrase], run: { _ in .done })
        let text = HelpText(commands: [command]).text(for: ["x"])
        #expect(text.contains("--passphrase-file FILE"))
        #expect(!text.contains("--passphrase TEXT"))
    }
}

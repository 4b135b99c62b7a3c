/// The text of `--help`, made from the tables of commands and options.
struct HelpText {
    private static let width = 96

    let commands: [Command]

    /// For the program, for a group of commands such as `credential`, or for one command.
    func text(for words: [String]) -> String {
        if let command = commands.first(where: { $0.words == words }) { return help(on: command) }
        let members = commands.filter { $0.words.starts(with: words) }
        return words.isEmpty
            ? overview() : list(members, title: "Usage: carillon \(words.joined(separator: " ")) COMMAND")
    }

    private func overview() -> String {
        """
        Carillon sends Apple push notifications for apps that enqueue them as rows in PostgreSQL.

        \(list(commands, title: "Usage: carillon COMMAND [OPTIONS]"))
        'carillon COMMAND --help' shows the options of a command. Each option can also be set by an environment
        variable: --max-in-flight by CARILLON_MAX_IN_FLIGHT. An argument overrides the variable.
        Exit status: \(ExitStatus.all.map { "\($0.code) \($0.meaning)" }.joined(separator: ", ")).

        """
    }

    private func list(_ commands: [Command], title: String) -> String {
        let width = commands.map { $0.words.joined(separator: " ").count }.max() ?? 0
        return title + "\n\n"
            + commands.map { command in
                "  " + command.words.joined(separator: " ").padding(to: width + 2) + command.summary + "\n"
            }.joined()
    }

    private func help(on command: Command) -> String {
        let words = command.arguments.map(\.placeholder)
        var text =
            "Usage: " + ([command.title] + words + command.required.map(\.usage) + ["[OPTIONS]"]).joined(separator: " ")
            + "\n\n"
        text += ([command.summary] + command.discussion).map { Self.wrap($0, indent: 0) }.joined(separator: "\n")
        if !command.arguments.isEmpty {
            text += "\nArguments:\n"
            for argument in command.arguments {
                text += "  \(argument.placeholder)\n" + Self.wrap(argument.help, indent: 6)
            }
        }
        text += "\nOptions:\n"
        for option in command.allOptions { text += help(on: option, isRequired: command.requires(option)) }
        if !command.exits.isEmpty { text += "\nExit status:\n" }
        for (status, reason) in command.exits { text += "  \(status.code)\n" + Self.wrap(reason, indent: 6) }
        if !command.examples.isEmpty { text += "\nExamples:\n" + command.examples.map { "  \($0)\n" }.joined() }
        return text
    }

    private func help(on option: Option, isRequired: Bool) -> String {
        let flags = option.flags.map { flag in
            let word = flag == option.fileFlag ? "FILE" : option.kind.placeholder
            return "--" + flag + (word.map { " " + $0 } ?? "")
        }
        return "  " + flags.joined(separator: ", ") + "\n"
            + Self.wrap("\(option.help) [\(option.facts(isRequired: isRequired))]", indent: 6)
    }

    private static func wrap(_ text: String, indent: Int) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if indent + last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.map { String(repeating: " ", count: indent) + $0 + "\n" }.joined()
    }
}

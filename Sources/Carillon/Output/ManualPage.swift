/// The manual page in section 1, made from the tables of commands and options. man(7).
struct ManualPage {
    let commands: [Command]

    var text: String {
        """
        .\\" Written by 'carillon man'.
        .TH CARILLON 1 "" "Carillon \(Program.version)" "User Commands"
        .SH NAME
        carillon \\- Apple push notifications from PostgreSQL
        .SH SYNOPSIS
        .B carillon
        .I COMMAND
        .RI [ OPTIONS ]
        .SH DESCRIPTION
        Carillon sends Apple push notifications for apps that enqueue them as rows in PostgreSQL.
        .SH COMMANDS
        \(commands.map(section).joined())\
        .SH OPTIONS
        Every command also takes these options.
        .TP
        .B \\-\\-help
        Show help for the command.
        \(Option.common.map { entry($0, isRequired: false) }.joined())\
        .SH ENVIRONMENT
        An environment variable can take the place of each option: CARILLON_MAX_IN_FLIGHT of \\-\\-max\\-in\\-flight. The option
        overrides the variable. Without a database, libpq uses the variables that begin with PG.
        .SH EXIT STATUS
        \(ExitStatus.all.map { ".TP\n.B \($0.code)\n\(Self.escaped($0.meaning))\n" }.joined())
        """
    }

    private func section(on command: Command) -> String {
        let usage = command.words + command.arguments.map(\.placeholder) + command.required.map(\.usage)
        var text = ".SS \(Self.escaped(usage.joined(separator: " ")))\n"
        text += ([command.summary] + command.discussion).map { Self.escaped($0) + "\n" }.joined(separator: ".PP\n")
        for argument in command.arguments {
            text += ".TP\n.I \(Self.escaped(argument.placeholder))\n\(Self.escaped(argument.help))\n"
        }
        for option in command.required + command.options {
            text += entry(option, isRequired: command.requires(option))
        }
        for (status, reason) in command.exits { text += ".TP\nexit status \(status.code)\n\(Self.escaped(reason))\n" }
        if !command.examples.isEmpty {
            text += ".PP\n.EX\n" + command.examples.map { Self.escaped($0) + "\n" }.joined() + ".EE\n"
        }
        return text
    }

    private func entry(_ option: Option, isRequired: Bool) -> String {
        let flags = option.flags.map { flag in
            let word = flag == option.fileFlag ? "FILE" : option.kind.placeholder
            return "\\fB\(Self.escaped("--" + flag))\\fR" + (word.map { " \\fI\(Self.escaped($0))\\fR" } ?? "")
        }
        return ".TP\n\(flags.joined(separator: ", "))\n"
            + Self.escaped("\(option.help) [\(option.facts(isRequired: isRequired))]") + "\n"
    }

    /// What roff would take for its own.
    private static func escaped(_ text: String) -> String {
        let characters = ["\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "~": "\\(ti", "^": "\\(ha"]
        let text = text.map { characters[String($0)] ?? String($0) }.joined()
        return text.hasPrefix(".") ? "\\&" + text : text
    }
}

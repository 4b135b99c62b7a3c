@testable import Carillon

/// The text of docs/cli.md, made from the tables of commands and options.
struct CommandReference {
    let commands: [Command]

    var text: String {
        """
        # Commands

        `carillon` is one program. This page lists its commands and their options, as `carillon COMMAND --help` does.
        `make docs` writes the page from the program.

        An option can be an argument, `--max-in-flight 4000`, or an environment variable, `CARILLON_MAX_IN_FLIGHT=4000`. An
        argument overrides the variable. A duration is written `250ms`, `10s` or `5m`. [operating.md](operating.md) explains
        the options that need more than a line, and [rights.md](rights.md) the roles.

        | exit status | meaning |
        |---|---|
        \(ExitStatus.all.map { "| \($0.code) | \($0.meaning) |\n" }.joined())
        | command | what it does |
        |---|---|
        \(commands.map { "| [`\($0.title)`](#\(Self.anchor($0))) | \(Self.cell($0.summary)) |\n" }.joined())
        Every command also takes these options:

        \(Self.table(of: Option.common, in: nil))
        ## The database

        Commands that use the database take these options. `worker`, `status`, `check` and `web` accept several databases; their
        sections say how.

        \(Self.table(of: [.database], in: nil))
        \(commands.map(section).joined(separator: "\n"))
        """
    }

    private static func anchor(_ command: Command) -> String {
        command.title.replacing(" ", with: "-")
    }

    private func section(on command: Command) -> String {
        let words = command.arguments.map(\.placeholder)
        let required = command.required.map(\.usage)
        var text = "## \(command.title)\n\n```\n"
        text += ([command.title] + words + required + ["[OPTIONS]"]).joined(separator: " ") + "\n```\n\n"
        text += ([command.summary] + command.discussion).joined(separator: "\n\n") + "\n"
        let usesDatabase = command.options.contains { $0.help == Option.database.help }
        if usesDatabase || !command.roles.isEmpty {
            let roles = command.roles.map { "`\($0)`" }.joined(separator: " or ")
            text += "\nRole: \(roles.isEmpty ? "" : roles + ", or ")the owner of the schema.\n"
        }
        if !command.arguments.isEmpty {
            text += "\n| argument | |\n|---|---|\n"
            for argument in command.arguments {
                text += "| `\(argument.placeholder)` | \(Self.cell(argument.help)) |\n"
            }
        }
        if usesDatabase {
            text += "\nUses [the database](#the-database).\n"
        }
        text += optionsText(of: command)
        if !command.exits.isEmpty {
            text += "\n| exit status | when |\n|---|---|\n"
            for (status, reason) in command.exits { text += "| \(status.code) | \(Self.cell(reason)) |\n" }
        }
        if !command.examples.isEmpty { text += "\n```sh\n\(command.examples.joined(separator: "\n"))\n```\n" }
        return text
    }

    /// A table, without the rows that an earlier command has too if these are many.
    private func optionsText(of command: Command) -> String {
        let options = Self.options(of: command)
        let earlier = commands.prefix { $0.title != command.title }
        let base = earlier.first { Self.shared($0, command).count >= 10 }
        guard let base else { return options.isEmpty ? "" : "\n" + Self.table(of: options, in: command) }
        let missing = Self.options(of: base).filter { option in !options.contains { $0.flags == option.flags } }
        let except = missing.isEmpty ? "" : " except \(missing.map { "`--\($0.flag)`" }.joined(separator: ", "))"
        let others = options.filter { !Self.shared(base, command).contains(Self.row(of: $0, in: command)) }
        return "\nThe options of [`\(base.title)`](#\(Self.anchor(base)))\(except)"
            + (others.isEmpty ? ".\n" : ", and:\n\n" + Self.table(of: others, in: command))
    }

    private static func options(of command: Command) -> [Option] {
        (command.required + command.options).filter { $0.help != Option.database.help }
    }

    private static func shared(_ one: Command, _ other: Command) -> Set<String> {
        Set(options(of: one).map { row(of: $0, in: one) }).intersection(
            options(of: other).map { row(of: $0, in: other) }
        )
    }

    private static func table(of options: [Option], in command: Command?) -> String {
        "| option | default | variable | |\n|---|---|---|---|\n" + options.map { row(of: $0, in: command) }.joined()
    }

    private static func row(of option: Option, in command: Command?) -> String {
        let flags = option.flags.map { flag in
            let word = flag == option.fileFlag ? "FILE" : option.kind.placeholder
            return "`--\(flag)\(word.map { " " + cell($0) } ?? "")`"
        }
        let fallback = command?.requires(option) == true ? "required" : option.fallback.map { "`\($0)`" } ?? ""
        let variables = option.variables.flatMap { option.secrecy == .open ? [$0] : [$0, $0 + "_FILE"] }
        return "| \(flags.joined(separator: ", ")) | \(fallback) "
            + "| \(variables.map { "`\($0)`" }.joined(separator: ", ")) | \(cell(option.help)) |\n"
    }

    /// A bar would end the cell.
    private static func cell(_ text: String) -> String {
        text.replacing("|", with: "\\|")
    }
}

extension Command {
    /// Listed only: the parser treats the word like `--help`.
    static let help = Command(
        "help",
        roles: [],
        summary: "Show help for the program or for one command.",
        arguments: [Argument("COMMAND", required: false, repeatable: true, "The command.")],
        run: { invocation in
            invocation.console.output.write(HelpText(commands: all).text(for: []))
            return .done
        }
    )
}

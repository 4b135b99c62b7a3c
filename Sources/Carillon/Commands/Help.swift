extension Command {
    /// Here to be listed; the parser turns the word into the same request as `--help`.
    static let help = Command(
        "help",
        summary: "Say what the program, or the command after it, does and takes.",
        arguments: [Argument("COMMAND", required: false, repeatable: true, "The words of the command.")],
        run: { invocation in
            invocation.console.output.write(HelpText(commands: all).text(for: []))
            return .done
        }
    )
}

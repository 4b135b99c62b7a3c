extension Command {
    static let completions = Command(
        "completions",
        roles: [],
        summary: "Print what makes a shell complete the command line of the program.",
        discussion: "The Debian package installs it for each of these shells.",
        arguments: [Argument("SHELL", "The shell: \(Completions.Shell.list).")],
        examples: [
            "source <(carillon completions bash)",
            "carillon completions zsh > ~/.zfunc/_carillon",
            "carillon completions fish > ~/.config/fish/completions/carillon.fish",
        ],
        run: { invocation in
            guard let shell = Completions.Shell(rawValue: invocation.name) else {
                throw UsageError(
                    "\(invocation.command.title) takes \(Completions.Shell.list), not '\(invocation.name)'."
                )
            }
            invocation.console.output.write(Completions(commands: all).script(for: shell))
            return .done
        }
    )
}

import Glibc

/// Nothing is destroyed that nobody has agreed to: by --yes, or by an answer on a terminal.
struct Confirmation {
    let invocation: Invocation

    /// Returns if it is to be done; otherwise says what would go or change.
    func obtain(_ consequence: String) throws {
        guard !invocation.settings.isOn(.yes) else { return }
        guard isatty(STDIN_FILENO) == 1, invocation.console.errors.isTerminal else {
            throw CommandError(.usage, consequence, hint: "Nothing was done. With --yes it is.")
        }
        invocation.console.note(consequence)
        invocation.console.errors.write("Go on? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else { throw CommandError(.failed, "Nothing was done.") }
    }
}

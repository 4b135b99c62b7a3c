import Glibc

/// Destructive commands ask first: the user agrees with --yes, or with an answer on a terminal.
struct Confirmation {
    let invocation: Invocation

    /// Returns when the user agrees; throws otherwise.
    func obtain(_ consequence: String) throws {
        guard !invocation.settings.isOn(.yes) else { return }
        guard isatty(STDIN_FILENO) == 1, invocation.console.errors.isTerminal else {
            throw CommandError(.usage, consequence, hint: "Nothing was done. Add --yes to proceed.")
        }
        invocation.console.note(consequence)
        invocation.console.errors.write("Continue? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else { throw CommandError(.failed, "Nothing was done.") }
    }
}

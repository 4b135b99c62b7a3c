/// Why a command failed: what is wrong, what to do, and the exit status.
struct CommandError: Error {
    let status: ExitStatus
    let sentence: String
    private(set) var hint: String?
    /// PostgreSQL denied it to this user.
    let lacksRights: Bool

    init(_ status: ExitStatus, _ sentence: String, hint: String? = nil, lacksRights: Bool = false) {
        self.status = status
        self.sentence = sentence
        self.hint = hint
        self.lacksRights = lacksRights
    }

    /// Wrong usage of the command with these words, or of the program if there are none.
    init(_ error: UsageError, of words: [String]) {
        let title = (["carillon"] + words).joined(separator: " ")
        self.init(.usage, error.sentence, hint: "'\(title) --help' says more.")
    }

    /// Adds the role that the command needs as a hint, if the user lacks it.
    func naming(rolesFor command: Command) -> CommandError {
        guard lacksRights else { return self }
        var error = self
        error.hint = command.missingRole
        return error
    }

    /// For people: the sentence, with the hint on a line of its own.
    var text: String { sentence + (hint.map { "\n  " + $0 } ?? "") }
}

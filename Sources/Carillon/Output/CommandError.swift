/// Why a command ended without doing what it was told: a sentence on what is wrong, one on what to do, and the status.
struct CommandError: Error {
    let status: ExitStatus
    let sentence: String
    private(set) var hint: String?
    /// PostgreSQL does not let this user do it.
    let lacksRights: Bool

    init(_ status: ExitStatus, _ sentence: String, hint: String? = nil, lacksRights: Bool = false) {
        self.status = status
        self.sentence = sentence
        self.hint = hint
        self.lacksRights = lacksRights
    }

    /// With the role that the command takes as advice, if that is what the user lacks.
    func naming(rolesFor command: Command) -> CommandError {
        guard lacksRights else { return self }
        var error = self
        error.hint = command.missingRole
        return error
    }

    /// For people: the sentence, and the advice on a line of its own.
    var text: String { sentence + (hint.map { "\n  " + $0 } ?? "") }
}

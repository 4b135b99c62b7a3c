/// Why a command ended without doing what it was told: a sentence on what is wrong, one on what to do, and the status.
struct CommandError: Error {
    let status: ExitStatus
    let sentence: String
    let hint: String?

    init(_ status: ExitStatus, _ sentence: String, hint: String? = nil) {
        self.status = status
        self.sentence = sentence
        self.hint = hint
    }

    /// For people: the sentence, and the advice on a line of its own.
    var text: String { sentence + (hint.map { "\n  " + $0 } ?? "") }
}

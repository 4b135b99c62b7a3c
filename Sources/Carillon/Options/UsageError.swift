/// The command line is wrong, or a variable used in place of an argument is.
struct UsageError: Error, Equatable {
    /// What is wrong, and what to write instead.
    let sentence: String
    /// The words of the command whose `--help` explains more; empty for the program itself.
    let command: [String]

    init(_ sentence: String, of command: [String] = []) {
        self.sentence = sentence
        self.command = command
    }
}

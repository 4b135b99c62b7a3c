/// The words on the command line, or a variable in their stead, cannot be followed.
struct UsageError: Error, Equatable {
    /// What is wrong and what to write instead.
    let sentence: String
    /// The words of the command whose `--help` says more; empty for the program itself.
    let command: [String]

    init(_ sentence: String, command: [String] = []) {
        self.sentence = sentence
        self.command = command
    }
}

/// A call of a command: the command, its arguments and options, and where it prints.
struct Invocation: Sendable {
    let command: Command
    let arguments: [String]
    let settings: Settings
    let console: Console

    /// The first argument, for commands that require one.
    var name: String { arguments.first ?? "" }
}

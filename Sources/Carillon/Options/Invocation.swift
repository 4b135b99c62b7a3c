import CarillonText

/// A call of a command: the command, its arguments and options, and where it prints.
struct Invocation: Sendable {
    let command: Command
    let arguments: [String]
    let settings: Settings
    let console: Console
    let manager: ServiceManager

    /// The first argument, for commands that require one.
    var name: String { arguments.first ?? "" }

    /// Prints the result of a command that takes `--json`: with it as JSON, and otherwise by the body.
    func show(_ json: @autoclosure () -> JSONValue, _ print: (Console) -> Void) {
        if settings.isOn(.json) { console.print(json: json()) } else { print(console) }
    }
}

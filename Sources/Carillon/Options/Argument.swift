/// A positional argument of a command.
struct Argument: Sendable {
    /// Its placeholder in `--help`.
    let name: String
    let help: String
    let isRequired: Bool
    /// Takes all words that are left.
    let isRepeatable: Bool

    init(_ name: String, required: Bool = true, repeatable: Bool = false, _ help: String) {
        self.name = name
        self.help = help
        isRequired = required
        isRepeatable = repeatable
    }

    var placeholder: String {
        let word = isRepeatable ? name + "..." : name
        return isRequired ? word : "[\(word)]"
    }
}

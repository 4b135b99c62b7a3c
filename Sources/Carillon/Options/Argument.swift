/// A word a command takes by its place rather than by a flag.
struct Argument: Sendable {
    /// What stands for it in `--help`.
    let name: String
    let help: String
    let isRequired: Bool
    /// Takes all words that are left.
    let isRepeatable: Bool

    init(_ name: String, required: Bool = true, repeatable: Bool = false, _ help: String) {
        self.name = name
        self.help = help
        self.isRequired = required
        self.isRepeatable = repeatable
    }

    var placeholder: String {
        let word = isRepeatable ? name + "..." : name
        return isRequired ? word : "[\(word)]"
    }
}

/// The words of a command line, sorted into flags with their values and positional words.
///
/// They are sorted before the command is known, with the whole table of options, so that flags may precede the command.
struct CommandLineWords {
    /// A flag as it was given. `option` is nil if no option has that flag.
    struct Given {
        let flag: String
        let option: Option?
        let value: String?
    }

    private(set) var given: [Given] = []
    private(set) var positional: [String] = []
    private(set) var wantsHelp = false
    private(set) var wantsVersion = false

    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--":
                positional += rest
                return
            case "--help", "-h": wantsHelp = true
            case "--version": wantsVersion = true
            case _ where word.hasPrefix("--"):
                given.append(try Self.flag(word.dropFirst(2), &rest))
            case _ where word.hasPrefix("-") && word.count > 1:
                throw UsageError("There is no option \(word); options are written with two dashes, like --help.")
            default: positional.append(word)
            }
        }
    }

    private static func flag(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) -> Given {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let flag = String(parts[0])
        let attached = parts.count == 2 ? String(parts[1]) : nil
        guard let option = Option.all.first(where: { $0.flags.contains(flag) }) else {
            if let option = Option.all.first(where: { $0.flag == flag }) {
                throw UsageError(
                    "--\(flag) would show the secret to every user of this machine. "
                        + "Put it into a file and name that with --\(option.flag)-file, or set \(option.variable)."
                )
            }
            return Given(flag: flag, option: nil, value: attached)
        }
        if case .flag = option.kind { return Given(flag: flag, option: option, value: attached ?? "true") }
        if let attached { return Given(flag: flag, option: option, value: attached) }
        guard let next = rest.first, !next.hasPrefix("--") else {
            let expectation = option.fileFlag == flag ? ValueKind.file("FILE").expectation : option.kind.expectation
            throw UsageError("--\(flag) needs a value after it; it takes \(expectation).")
        }
        rest = rest.dropFirst()
        return Given(flag: flag, option: option, value: next)
    }
}

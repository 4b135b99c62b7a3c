/// One option of the program. How its argument is parsed, its environment variables and its line in `--help` follow
/// from it. The options are in `Option+Table.swift`, some of an app in `AppOptions.swift`.
struct Option: Sendable {
    /// Where the value may appear.
    enum Secrecy: Sendable {
        /// Anywhere.
        case open
        /// May contain a secret, as a database URL may contain a password: never printed, and may be read from a file.
        case sensitive
        /// A secret: accepted only from a variable or a file, because other users of the machine can see arguments.
        case hidden
    }

    enum Separator: Sendable {
        case comma
        /// Only between URLs: the other form that libpq takes contains spaces.
        case whitespace

        static func isURL(_ text: some StringProtocol) -> Bool {
            text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
        }

        func split(_ text: String) -> [String] {
            switch self {
            case .comma: return text.split(separator: ",").map(String.init)
            case .whitespace:
                let pieces = text.split(whereSeparator: \.isWhitespace).map(String.init)
                return pieces.allSatisfy(Self.isURL) ? pieces : [text]
            }
        }
    }

    /// The name after `--`.
    let flag: String
    let kind: ValueKind
    /// The default, written as a user would write it.
    let fallback: String?
    private(set) var help = ""
    let secrecy: Secrecy
    let isRepeatable: Bool
    /// What separates the values of a repeatable option in a variable or a file.
    let separator: Separator
    /// A variable that other programs use as well; our own has precedence.
    let customary: String?

    init(
        _ flag: String,
        _ kind: ValueKind,
        default fallback: String? = nil,
        secrecy: Secrecy = .open,
        repeatable: Bool = false,
        partedBy separator: Separator = .comma,
        customary: String? = nil
    ) {
        self.flag = flag
        self.kind = kind
        self.fallback = fallback
        self.secrecy = secrecy
        isRepeatable = repeatable
        self.separator = separator
        self.customary = customary
    }

    /// The same option with this text in `--help`.
    func help(_ text: String) -> Option {
        var option = self
        option.help = text
        return option
    }

    /// The variable that sets it: `CARILLON_MAX_IN_FLIGHT` for `--max-in-flight`.
    var variable: String {
        "CARILLON_" + String(flag.map { $0 == "-" ? "_" : Character($0.uppercased()) })
    }

    /// Every variable that may set it, in order of precedence.
    var variables: [String] { [variable] + (customary.map { [$0] } ?? []) }

    /// The flag that names a file with the value. Only secret options have one.
    var fileFlag: String? { secrecy == .open ? nil : flag + "-file" }

    /// How an argument gives it.
    var usage: String {
        if let fileFlag, secrecy == .hidden { return "--\(fileFlag) FILE" }
        return "--" + flag + (kind.placeholder.map { " " + $0 } ?? "")
    }

    /// What help says in brackets: the default and the variables.
    func facts(isRequired: Bool) -> String {
        var facts: [String] = []
        if isRequired { facts.append("required") }
        if let fallback { facts.append("default \(fallback)") }
        facts += variables.flatMap { secrecy == .open ? [$0] : [$0, $0 + "_FILE"] }
        return facts.joined(separator: "; ")
    }

    /// The flags that an argument may use for it.
    var flags: [String] { (secrecy == .hidden ? [] : [flag]) + (fileFlag.map { [$0] } ?? []) }
}

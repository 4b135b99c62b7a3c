/// One setting of the program: how an argument is read, its environment variables and its line of `--help` follow
/// from it. All of them stand in one table, `Option+Table.swift`.
struct Option: Sendable {
    /// How far the value may travel.
    enum Secrecy: Sendable {
        /// Anybody may see it.
        case open
        /// May hold a secret, as a database URL may hold a password: never printed, and may be read from a file.
        case sensitive
        /// A secret: never an argument, which other users of the machine could see; only a variable or a file.
        case hidden
    }

    enum Separator: Sendable {
        case comma
        /// Only between URLs: libpq's other form has white space inside.
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

    /// The name after the two dashes.
    let flag: String
    let kind: ValueKind
    /// What is taken when neither an argument nor a variable says otherwise, as a user would write it.
    let fallback: String?
    let help: String
    let secrecy: Secrecy
    let isRepeatable: Bool
    /// What parts the values of one that may be repeated, where they stand in a variable or a file.
    let separator: Separator
    /// A variable that is usual elsewhere and is honoured after our own.
    let customary: String?

    init(
        _ flag: String,
        _ kind: ValueKind,
        default fallback: String? = nil,
        secrecy: Secrecy = .open,
        repeatable: Bool = false,
        partedBy separator: Separator = .comma,
        customary: String? = nil,
        _ help: String
    ) {
        self.flag = flag
        self.kind = kind
        self.fallback = fallback
        self.secrecy = secrecy
        self.isRepeatable = repeatable
        self.separator = separator
        self.customary = customary
        self.help = help
    }

    /// The variable that sets it: `--max-in-flight` is `CARILLON_MAX_IN_FLIGHT`.
    var variable: String {
        "CARILLON_" + String(flag.map { $0 == "-" ? "_" : Character($0.uppercased()) })
    }

    /// Every variable that may set it, the strongest first.
    var variables: [String] {
        [variable] + (customary.map { [$0] } ?? [])
    }

    /// The flag that names a file holding the value; only what is secret has one.
    var fileFlag: String? {
        secrecy == .open ? nil : flag + "-file"
    }

    /// The flags an argument may use for it.
    var flags: [String] {
        (secrecy == .hidden ? [] : [flag]) + (fileFlag.map { [$0] } ?? [])
    }
}

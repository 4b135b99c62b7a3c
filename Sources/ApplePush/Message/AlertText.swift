extension APNs.Alert {
    /// A text of an alert, written as a literal, or the key of a text that the app translates.
    public enum Text: Hashable, Sendable {
        /// This text.
        case plain(String)
        /// A text of the app's `Localizable.strings`, whose placeholders the arguments replace.
        case localized(key: String, arguments: [String])

        /// A text of the app's `Localizable.strings`, whose placeholders the arguments replace.
        public static func localized(_ key: String, _ arguments: String...) -> Self {
            .localized(key: key, arguments: arguments)
        }
    }

    /// Apple's names for the members of one text.
    struct TextMembers {
        let plain: String
        let key: String
        let arguments: String

        static let title = Self(plain: "title", key: "title-loc-key", arguments: "title-loc-args")
        static let subtitle = Self(plain: "subtitle", key: "subtitle-loc-key", arguments: "subtitle-loc-args")
        static let body = Self(plain: "body", key: "loc-key", arguments: "loc-args")

        /// The text in an alert. A translation key takes precedence over a plain text.
        func text(in alert: [String: APNs.JSON]) -> Text? {
            if case .string(let key) = alert[self.key] {
                guard case .array(let list) = alert[arguments] else { return .localized(key: key, arguments: []) }
                return .localized(key: key, arguments: list.map(Self.argument))
            }
            if case .string(let text) = alert[plain] { return .plain(text) }
            return nil
        }

        func set(_ text: Text?, in alert: inout [String: APNs.JSON]) {
            for name in [plain, key, arguments] { alert[name] = nil }
            switch text {
            case .plain(let text): alert[plain] = .string(text)
            case .localized(let key, let arguments):
                alert[self.key] = .string(key)
                if !arguments.isEmpty { alert[self.arguments] = .array(arguments.map { .string($0) }) }
            case nil: break
            }
        }

        private static func argument(_ json: APNs.JSON) -> String {
            if case .string(let text) = json { text } else { json.description }
        }
    }
}

extension APNs.Alert.Text: ExpressibleByStringInterpolation {
    /// This text.
    public init(stringLiteral value: String) { self = .plain(value) }
}

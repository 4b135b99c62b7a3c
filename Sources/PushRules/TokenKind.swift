/// What a token is for. A broadcast reaches the tokens of one kind. The known kinds are those of the table of push types. Others are
/// for types that Apple has added since.
package struct TokenKind: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    /// Nil unless it has 1 to 64 lower-case letters, digits, hyphens and underscores, as the table of tokens requires.
    package init?(rawValue: String) {
        let underscore = UInt8(ascii: "_")
        guard (1...64).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({ PushTypeRules.mayNameHave($0) || $0 == underscore })
        else { return nil }
        self.rawValue = rawValue
    }

    private init(known name: StaticString) { rawValue = name.description }

    package static let device = Self(known: "device")

    /// The known kinds, device tokens first.
    package static let all = PushTypeRules.all.reduce(into: [device]) { kinds, rules in
        for case let name? in [rules.tokenKind, rules.startKind] {
            let kind = Self(known: name)
            if !kinds.contains(kind) { kinds.append(kind) }
        }
    }

    package static let names = all.map(\.rawValue)

    /// What names the kinds have, in words.
    package static let form =
        names.joined(separator: ", ") + ", or at most 64 lower-case letters, digits, hyphens and underscores"

    package var isKnown: Bool { Self.all.contains(self) }
}

extension PushTypeRules {
    /// Values of `apns-priority`. A request without the field has 10.
    package struct Priorities: OptionSet, Sendable {
        package let rawValue: UInt8
        package static let ten = Self(rawValue: 1)
        package static let five = Self(rawValue: 2)
        package static let one = Self(rawValue: 4)
        package static let any: Self = [.ten, .five, .one]

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Nil if Apple has no such priority.
        package init?(_ priority: Int) {
            switch priority {
            case 10: self = .ten
            case 5: self = .five
            case 1: self = .one
            default: return nil
            }
        }

        /// The numbers, most urgent first.
        package var numbers: [Int] { [10, 5, 1].filter { Self($0).map(contains) ?? false } }

        /// The numbers, as in “10, 5 or 1”.
        package var text: String {
            let words = numbers.map { String($0) }
            guard let last = words.last, words.count > 1 else { return words.first ?? "" }
            return words.dropLast().joined(separator: ", ") + " or " + last
        }
    }
}

package import CarillonText

/// A number that may be an estimate. In SQL and JSON, `ready_precision` says it of `ready`.
package struct Amount: Equatable, Sendable {
    package enum Precision: String, Decodable, Sendable, JSONConvertible {
        case exact
        case atLeast = "at least"
        case about
        /// A sum with a number that is `about` and one that is `at least`.
        case atLeastAbout = "at least about"

        /// Of a list, or of a number that was counted, which may have been cut off.
        package init(isCut: Bool) { self = isCut ? .atLeast : .exact }

        fileprivate static func + (one: Precision, other: Precision) -> Precision {
            let both = [one, other]
            let isCut = both.contains { $0 == .atLeast || $0 == .atLeastAbout }
            guard both.contains(where: { $0 == .about || $0 == .atLeastAbout }) else { return Precision(isCut: isCut) }
            return isCut ? .atLeastAbout : .about
        }

        package var json: JSONValue { .string(rawValue) }

        /// Stands in front of a number as text.
        package func prefixed(_ text: String) -> String { self == .exact ? text : "\(rawValue) \(text)" }
    }

    package let value: Int64
    package let precision: Precision

    package init(_ value: Int64, _ precision: Precision = .exact) {
        self.value = value
        self.precision = precision
    }

    /// "12", "at least 1,001", "about 200,000".
    package var text: String { prefixed(Int(value).grouped) }

    /// Puts the precision in front of the number as text.
    package func prefixed(_ text: String) -> String { precision.prefixed(text) }

    package static func + (one: Amount, other: Amount) -> Amount {
        Amount(one.value + other.value, one.precision + other.precision)
    }
}

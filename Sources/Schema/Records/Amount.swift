package import CarillonText

/// A number that may be an estimate. In SQL and JSON, `depth_is` says it of `depth`.
package struct Amount: Equatable, Sendable {
    package enum Precision: String, Decodable, Sendable, JSONConvertible {
        case exact
        case atLeast = "at least"
        case about

        package var json: JSONValue { .string(rawValue) }
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
    package func prefixed(_ text: String) -> String { precision == .exact ? text : "\(precision.rawValue) \(text)" }

    package static func + (one: Amount, other: Amount) -> Amount {
        let both = [one.precision, other.precision]
        return Amount(
            one.value + other.value,
            both.contains(.about) ? .about : both.contains(.atLeast) ? .atLeast : .exact
        )
    }
}

public import FoundationEssentials

extension APNs {
    /// A JSON value, written as a literal: `["title": "Hello", "count": 3]`.
    ///
    /// Numbers are equal if their values are equal: JSON does not distinguish `1` from `1.0`.
    public enum JSON: Sendable {
        /// `null`
        case null
        /// `true` or `false`
        case bool(Bool)
        /// A whole number.
        case integer(Int64)
        /// Any other number.
        case number(Double)
        /// A number with more digits than the other two can hold.
        case decimal(Decimal)
        /// Text.
        case string(String)
        /// A list.
        case array([JSON])
        /// Names and values.
        case object([String: JSON])
    }
}

extension APNs.JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }
    /// `true` or `false`
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Any other number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A list.
    public init(arrayLiteral elements: Self...) { self = .array(elements) }
    /// Names and values. For duplicate names, the last value wins.
    public init(dictionaryLiteral elements: (String, Self)...) {
        self = .object([String: Self](elements) { _, last in last })
    }
}

/// A version of the program, MAJOR.MINOR.PATCH.
package struct Release: Sendable, Comparable, CustomStringConvertible, Decodable {
    /// This program's.
    package static let current = Release("0.1.0")

    package let description: String

    package init(_ text: String) { description = text }

    package init(from decoder: any Decoder) throws { description = try String(from: decoder) }

    private var numbers: [Int] { description.split(separator: ".").map { Int($0) ?? 0 } }

    package static func < (one: Self, other: Self) -> Bool { one.numbers.lexicographicallyPrecedes(other.numbers) }
}

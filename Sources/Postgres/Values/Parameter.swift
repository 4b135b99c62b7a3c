/// A value, an optional value, or an array.
package protocol Parameter: Sendable {
    var typeID: UInt32 { get }

    /// Appends the value and returns true, or returns false if it is null.
    func writeIfPresent(to bytes: inout [UInt8]) -> Bool
}

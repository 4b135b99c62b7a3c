/// A value, an optional one, or an array.
package protocol Parameter: Sendable {
    var typeID: UInt32 { get }

    /// False: it is null.
    func writeIfPresent(to bytes: inout [UInt8]) -> Bool
}

/// Paused apps with consecutive ids, which looks skip.
package struct PausedRange: Hashable, Sendable {
    let first: Int32
    let last: Int32

    func contains(_ app: Int32) -> Bool { first <= app && app <= last }
}

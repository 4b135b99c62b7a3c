/// A place in the order in which scheduled jobs fall due.
package struct DuePlace: Hashable, Sendable {
    /// In microseconds since 1970.
    let time: Int64
    let id: Int64

    static let beginning = DuePlace(time: .min, id: .min)
}

extension DuePlace: Comparable {
    package static func < (left: Self, right: Self) -> Bool { (left.time, left.id) < (right.time, right.id) }
}

import Synchronization

/// A counter that several tasks share.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    /// Returns the next `count` numbers.
    func take(_ count: Int) -> Range<Int> {
        let end = value.wrappingAdd(count, ordering: .relaxed).newValue
        return end - count..<end
    }
}

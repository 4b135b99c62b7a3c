import Synchronization

/// Gives out numbers, each once.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    /// The next so many.
    func take(_ count: Int) -> Range<Int> {
        let end = value.wrappingAdd(count, ordering: .relaxed).newValue
        return end - count..<end
    }
}

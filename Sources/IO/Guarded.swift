import Synchronization

/// A value behind a lock: a `Mutex` that ThreadSanitizer understands.
///
/// A `Mutex` waits, when two threads meet, in a part of the standard library that ThreadSanitizer cannot see into, and
/// it then reports a race that is none. The mark is what it sees: taken over with the lock, left behind with it.
package struct Guarded<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    private let mark = Atomic(false)

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Nothing that waits or calls back belongs in the body.
    package borrowing func withLock<R: ~Copyable, E>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        try mutex.withLock { (value) throws(E) -> sending R in
            _ = mark.load(ordering: .acquiring)
            defer { mark.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}

extension Guarded: Sendable where Value: ~Copyable {}

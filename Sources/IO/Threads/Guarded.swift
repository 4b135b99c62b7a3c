import Synchronization

/// A value protected by a `Mutex` that ThreadSanitizer understands.
///
/// ThreadSanitizer cannot see that a contended `Mutex` orders two threads, and reports a race where there is none. The atomic mark,
/// read after locking and written before unlocking, makes the order visible.
package struct Guarded<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    private let mark = Atomic(false)

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// The body must not wait or call back into other code.
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

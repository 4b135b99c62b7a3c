import CarillonCLinux  // whose `timespec` it is where the runtime is linked in
import Glibc

/// A time on CLOCK_MONOTONIC, which cannot be set. Every deadline is one.
package struct MonotonicInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start, which is the same for all processes until the machine reboots.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Self(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static let distantFuture = Self(nanoseconds: .max)

    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates, so that adding an unlimited wait to now does not trap.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflowed) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        guard overflowed else { return Self(nanoseconds: sum) }
        return Self(nanoseconds: duration.nanoseconds < 0 ? .min : .max)
    }

    package static func - (left: Self, right: Self) -> Duration {
        let (difference, overflowed) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflowed ? (left < right ? .min : .max) : difference)
    }
}

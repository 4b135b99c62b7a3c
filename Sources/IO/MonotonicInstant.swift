import Glibc

/// A point on the clock that only goes forward and that no administrator can set: what every deadline is measured by.
package struct MonotonicInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start, the same one for the whole machine until it boots again.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Self(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Later than anything a program lives to see.
    package static let distantFuture = Self(nanoseconds: .max)

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Saturates: a wait of "for ever" added to now is for ever, not a trap.
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

extension Duration {
    /// Whole nanoseconds, clamped to what 64 bits hold (292 years).
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflowed else { return seconds < 0 ? .min : .max }
        let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}

import CarillonIO
public import FoundationEssentials

extension APNs {
    /// When Apple stops trying to reach a device.
    public struct Expiry: Hashable, Sendable {
        private enum Limit: Hashable {
            case time(Int64)
            case interval(Int64)
        }

        private let limit: Limit

        private init(_ limit: Limit) { self.limit = limit }

        /// Tries once: a device that cannot be reached does not get the push.
        public static let once = Self(.time(0))

        /// Until that time, in seconds since 1970; 0 to try once.
        public static func at(_ seconds: Int64) -> Self { Self(.time(seconds)) }

        /// Until that time.
        public static func at(_ date: Date) -> Self { Self(.time(date.unixSeconds)) }

        /// For this long after the message is made.
        public static func after(_ interval: Duration) -> Self { Self(.interval(interval.components.seconds)) }

        /// For this many seconds after the message is made.
        public static func after(seconds: Double) -> Self { Self(.interval(Int64(wholeOf: seconds))) }

        /// The time in seconds since 1970, where an interval counts from now; 0 to try once.
        public var seconds: Int64 {
            switch limit {
            case .time(let seconds): return seconds
            case .interval(let seconds):
                let (sum, isTooLarge) = WallClock.seconds.addingReportingOverflow(seconds)
                return isTooLarge ? (seconds < 0 ? .min : .max) : sum
            }
        }
    }
}

extension Date {
    var unixSeconds: Int64 { Int64(wholeOf: timeIntervalSince1970) }
}

extension Int64 {
    /// The value rounded down, clamped to the range of `Int64`.
    fileprivate init(wholeOf value: Double) {
        let whole = value.rounded(.down)
        self = Int64(exactly: whole) ?? (whole < 0 ? .min : .max)
    }
}

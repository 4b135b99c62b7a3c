import Glibc

/// Waiting for code on a thread that may block. A loop's thread may not.
package enum BlockingWait {
    /// Waits until the descriptor is ready for reading or for writing, or has failed. Returns false if the deadline has passed.
    package static func readiness(of descriptor: CInt, for events: Int32, until deadline: MonotonicInstant) -> Bool {
        while true {
            var wanted = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let left = max(0, (deadline - .now).nanoseconds)
            // Rounded up, so that the wait does not end early.
            let result = poll(&wanted, 1, CInt(clamping: (left + 999_999) / 1_000_000))
            if result >= 0 { return result > 0 }
            if errno != EINTR { return true }  // the next read or write reports what is wrong
        }
    }
}

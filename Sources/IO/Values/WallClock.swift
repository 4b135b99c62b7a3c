import CarillonCLinux  // whose `timespec` it is where the runtime is linked in
import Glibc

/// The time of day, which may be set: for what is compared with other machines, or shown.
package enum WallClock {
    /// Microseconds since 1970.
    package static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Milliseconds since 1970.
    package static var milliseconds: Int64 { microseconds / 1000 }

    /// Seconds since 1970, the unit of times in payloads, provider tokens and certificates.
    package static var seconds: Int64 { microseconds / 1_000_000 }
}

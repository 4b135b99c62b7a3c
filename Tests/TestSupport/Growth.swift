import Glibc

/// How the time of a computation grows with its input.
package enum Growth {
    /// Texts that make some operations slow in the square of their length: accents in an order that has to be sorted, which costs
    /// when characters are compared, and flags, which costs when characters are counted from the end.
    package static let hostileTexts = [
        "\u{301}\u{323}", "🇩🇪", "👨‍👩‍👧", "\r\n", " ", "&", "=", ";", ",", "/", "%", "%CC%81%CC%A3", "+", "~", "?", ".", ":",
        "@", "\"",
    ]

    /// Processor seconds of this thread: the least of three tries, if the first took long.
    package static func seconds(_ body: () -> Void) -> Double {
        var least = Double.infinity
        for _ in 0..<3 where least > 0.01 {
            let start = processorTime()
            body()
            least = min(least, processorTime() - start)
        }
        return least
    }

    /// Whether so many processor seconds are in proportion to the bytes. In quadratic time, 131,072 bytes take several seconds if
    /// each step is a byte and takes a nanosecond.
    package static func isLinear(_ seconds: Double, bytes: Int) -> Bool { seconds < usualSeconds(bytes) }

    /// The same. A slow machine may take three times as long, if an eighth of the input takes more than a sixteenth of that: in
    /// quadratic time, it takes a 64th.
    /// - Parameter read: Reads so many of the first bytes again.
    package static func isLinear(_ seconds: Double, bytes: Int, _ read: (_ bytes: Int) -> Void) -> Bool {
        isLinear(seconds, bytes: bytes)
            || seconds < 3 * usualSeconds(bytes) && seconds < 16 * Self.seconds { read(bytes / 8) }
    }

    private static func usualSeconds(_ bytes: Int) -> Double {
        (0.02 + 2e-6 * Double(bytes)) * (Sanitizer.isLoaded ? 10 : 1)
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

import Glibc

/// How the time of a computation grows with its input.
package enum Growth {
    /// Texts that make some operations slow in the square of their length: accents in an order that has to be sorted, which costs
    /// when characters are compared, and flags, which costs when characters are counted from the end.
    package static let hostileTexts = [
        "\u{301}\u{323}", "🇩🇪", "👨‍👩‍👧", "\r\n", " ", "&", "=", ";", ",", "/", "%", "%CC%81%CC%A3", "+", "~", "?", ".", ":",
        "@", "\"",
    ]

    /// Processor seconds of this thread for each byte, with an input of this many bytes: the least of three tries.
    package static func secondsPerByte(of text: String, bytes: Int, _ body: (String) -> Void) -> Double {
        let input = "a" + String(repeating: text, count: bytes / text.utf8.count)
        return (0..<3).map { _ in
            let start = processorTime()
            body(input)
            return (processorTime() - start) / Double(bytes)
        }.min() ?? .infinity
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

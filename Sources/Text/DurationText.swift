/// Durations as people write them: `250ms`, `10s`, `5m`, `1h30m`, `7d`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// The duration that a text denotes. A number without a unit is refused, because users would expect different units.
    package static func read(_ text: String) -> Duration? {
        var rest = Substring(text)
        var total = Duration.zero
        var last = units.startIndex
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(number.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count)
            // Units go from the largest to the smallest, each at most once.
            guard let unit = units[last...].firstIndex(where: { $0.name == name }),
                let amount = milliseconds(number, unit: units[unit].milliseconds)
            else { return nil }
            total += .milliseconds(amount)
            last = unit + 1
        }
        return total
    }

    /// The shortest text that `read` accepts for the duration, to the millisecond.
    package static func write(_ duration: Duration) -> String {
        var rest = duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
        guard rest > 0 else { return "0s" }
        var text = ""
        for unit in units where rest >= unit.milliseconds {
            text += "\(rest / unit.milliseconds)\(unit.name)"
            rest %= unit.milliseconds
        }
        return text
    }

    /// The two largest units of a duration in seconds, for example "3m 5s" or "2d 4h".
    package static func age(_ seconds: Int64) -> String {
        let units: [(String, Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]
        let size = max(0, seconds)
        guard let first = units.firstIndex(where: { size >= $0.1 }) else { return "0s" }
        let (name, length) = units[first]
        let rest = size % length
        guard first + 1 < units.count, rest / units[first + 1].1 > 0 else { return "\(size / length)\(name)" }
        return "\(size / length)\(name) \(rest / units[first + 1].1)\(units[first + 1].0)"
    }

    private static func milliseconds(_ number: Substring, unit: Int64) -> Int64? {
        let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = Int64(first) else { return nil }
        let (scaled, tooLarge) = whole.multipliedReportingOverflow(by: unit)
        // A hundred years: more than any user means, and far below where sums of durations overflow.
        guard !tooLarge, scaled <= 100 * 366 * 86_400_000 else { return nil }
        guard parts.count == 2 else { return scaled }
        guard let fraction = Int64(parts[1]), parts[1].count <= 6 else { return nil }
        var scale: Int64 = 1
        for _ in parts[1] { scale *= 10 }
        return scaled + fraction * unit / scale
    }
}

extension Duration {
    /// To the millisecond.
    package var roundedSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds / 1_000_000_000_000_000) / 1000
    }
}

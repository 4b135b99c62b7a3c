/// The figures of a run, each beside what it has to reach.
struct Report: CustomStringConvertible {
    private struct Line {
        let name: String
        let figure: String
        let bound: String
        /// "ok", "MISSED", or nothing where there is no bound or it is not judged.
        let mark: String
    }

    /// Whether figures are held to their bounds from now on; where they are not, the bounds are shown only.
    var isJudged = true

    private var lines: [Line] = []

    /// Whether a figure falls short of its bound.
    var hasMissed: Bool { self.lines.contains { $0.mark == Self.missed } }

    private static let missed = "MISSED"

    /// A figure that has no bound.
    mutating func note(_ name: String, _ figure: String) {
        self.add(name, figure)
    }

    /// So many of something a second, the least that is good enough, and what we aim at.
    mutating func rate(_ name: String, _ value: Double, atLeast least: Double, aim: Double) {
        let bound = "≥ \(Self.grouped(least)), aim \(Self.grouped(aim))"
        self.add(name, Self.grouped(value), bound, isMissed: value < least)
    }

    /// A ratio, the least that is good enough, and what we aim at beyond that.
    mutating func ratio(_ name: String, _ value: Double, atLeast least: Double, aim: Double? = nil) {
        let bound = "≥ \(Self.decimals(least))" + (aim.map { ", aim \(Self.decimals($0))" } ?? "")
        self.add(name, Self.decimals(value), bound, isMissed: value < least)
    }

    /// A ratio that should be small.
    mutating func ratio(_ name: String, _ value: Double, atMost most: Double) {
        let bound = "≤ \(Self.decimals(most))"
        self.add(name, Self.decimals(value), bound, isMissed: value > most)
    }

    /// A time in milliseconds, and the most that is good enough.
    mutating func time(_ name: String, _ milliseconds: Double, atMost most: Double) {
        self.add(name, "\(Self.decimals(milliseconds)) ms", "≤ \(Self.grouped(most)) ms", isMissed: milliseconds > most)
    }

    /// A part of a whole in percent, and the most that is good enough.
    mutating func percent(_ name: String, _ percent: Double, atMost most: Double) {
        self.add(name, "\(Self.decimals(percent)) %", "≤ \(Self.grouped(most)) %", isMissed: percent > most)
    }

    /// A number of things that should be few.
    mutating func count(_ name: String, _ value: Int, atMost most: Int) {
        let bound = "≤ \(Self.grouped(Double(most)))"
        self.add(name, Self.grouped(Double(value)), bound, isMissed: value > most)
    }

    /// An amount of memory, and the most that is good enough.
    mutating func memory(_ name: String, _ bytes: Int, atMost most: Int) {
        let megabytes = Double(bytes) / 1_000_000
        self.add(name, "\(Self.decimals(megabytes)) MB", "≤ \(most / 1_000_000) MB", isMissed: bytes > most)
    }

    private mutating func add(_ name: String, _ figure: String, _ bound: String = "", isMissed: Bool = false) {
        print("  \(name): \(figure)")
        let mark = bound.isEmpty || !self.isJudged ? "" : isMissed ? Self.missed : "ok"
        self.lines.append(Line(name: name, figure: figure, bound: bound, mark: mark))
    }

    var description: String {
        let name = self.lines.map(\.name.count).max() ?? 0
        let figure = self.lines.map(\.figure.count).max() ?? 0
        let rows = self.lines.map { line in
            let gap = String(repeating: " ", count: name - line.name.count)
            let indent = String(repeating: " ", count: figure - line.figure.count)
            return "  \(line.name)\(gap)  \(indent)\(line.figure)  \(line.bound)  \(line.mark)"
        }
        return (["", "figures of this run:"] + rows).joined(separator: "\n")
    }

    /// 1234567.8 as "1,234,568".
    static func grouped(_ value: Double) -> String {
        let digits = Array(String(Int(value.rounded())))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// 0.876 as "0.88".
    static func decimals(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}

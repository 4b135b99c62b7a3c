import CarillonText
import CarillonWeb

/// The number of failed pushes in each interval of a window, as numbers and as a small chart.
struct FailureTrend: Equatable, Sendable, JSONConvertible {
    /// The number of intervals in a window.
    static let parts = 24
    private static let (partWidth, height) = (4, 20)

    /// The counts, newest last; nil for intervals that were not read.
    let counts: [Int64?]

    /// - Parameters:
    ///   - found: the numbers of failures, each with how many intervals ago they occurred.
    ///   - oldest: how many intervals back the failures were read.
    init(_ found: [(ago: Int, count: Int64)], oldest: Int) {
        var counts: [Int64?] = (0..<Self.parts).map { $0 < Self.parts - 1 - oldest ? nil : 0 }
        for (ago, count) in found where counts.indices.contains(Self.parts - 1 - ago) {
            counts[Self.parts - 1 - ago] = count
        }
        self.counts = counts
    }

    /// - Parameter window: the length of the window in seconds.
    func html(of window: Double) -> HTML {
        let peak = counts.compactMap(\.self).max() ?? 0
        let part = DurationText.age(Int64(window) / Int64(Self.parts))
        return HTML(
            .svg,
            .class("trend"),
            Attribute(.viewBox, "0 0 \(Self.parts * Self.partWidth) \(Self.height)"),
            Attribute(.preserveAspectRatio, "none"),
            Attribute(.role, "img"),
            Attribute(.ariaLabel, "at most \(Int(peak).grouped) in \(part)")
        ) {
            HTML(.path, .class("failed"), Attribute(.d, path(peak: max(1, peak))))
        }
    }

    /// A step line with gaps for unknown intervals.
    private func path(peak: Int64) -> String {
        let first = counts.firstIndex { $0 != nil } ?? 0
        let steps = counts[first...].map { count in
            "V\(Self.height - Self.scaled(count ?? 0, to: peak))h\(Self.partWidth)"
        }
        return "M\(first * Self.partWidth) \(Self.height)\(steps.joined())V\(Self.height)z"
    }

    /// Any count above zero is visible.
    private static func scaled(_ count: Int64, to peak: Int64) -> Int {
        count == 0 ? 0 : max(2, Int(Double(count) / Double(peak) * Double(height)))
    }

    var json: JSONValue { .array(counts.map { $0.map { JSONValue.int($0) } ?? .null }) }
}

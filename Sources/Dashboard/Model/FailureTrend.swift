import CarillonText
import CarillonWeb

/// How many pushes failed in each part of a window, as a number for each and as a small drawing.
struct FailureTrend: Equatable, Sendable, JSONConvertible {
    /// A window has so many.
    static let parts = 24
    private static let (partWidth, height) = (4, 20)

    /// The newest is the last. Nil: so far back nothing was looked at.
    let counts: [Int64?]

    /// - Parameters:
    ///   - found: how many failed so many parts ago.
    ///   - oldest: how many parts back was looked at.
    init(_ found: [(ago: Int, count: Int64)], oldest: Int) {
        var counts: [Int64?] = (0..<Self.parts).map { $0 < Self.parts - 1 - oldest ? nil : 0 }
        for (ago, count) in found where counts.indices.contains(Self.parts - 1 - ago) {
            counts[Self.parts - 1 - ago] = count
        }
        self.counts = counts
    }

    /// - Parameter window: in seconds.
    func html(of window: Double) -> HTML {
        let peak = counts.compactMap(\.self).max() ?? 0
        let part = Quantity.age(Int64(window) / Int64(Self.parts))
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

    /// Steps, whose part that is not known is left out.
    private func path(peak: Int64) -> String {
        let first = counts.firstIndex { $0 != nil } ?? 0
        let steps = counts[first...].map { count in
            "V\(Self.height - Self.scaled(count ?? 0, to: peak))h\(Self.partWidth)"
        }
        return "M\(first * Self.partWidth) \(Self.height)\(steps.joined())V\(Self.height)z"
    }

    /// Anything that happened is seen.
    private static func scaled(_ count: Int64, to peak: Int64) -> Int {
        count == 0 ? 0 : max(2, Int(Double(count) / Double(peak) * Double(height)))
    }

    var json: JSONValue { .array(counts.map { $0.map { JSONValue.int($0) } ?? .null }) }
}

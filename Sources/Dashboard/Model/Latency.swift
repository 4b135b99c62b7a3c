import ApplePush
import CarillonPostgres
import CarillonText

/// How long pushes took within about the last minute, over all workers that are not silent: the numbers of a silent one are old.
struct Latency: Sendable, JSONConvertible {
    private struct RangeCounts: Decodable, Sendable {
        let waits: Int64
        let answers: Int64
    }

    /// Counts by duration, in the ranges of `DurationHistogram`.
    struct Counts: Sendable, JSONConvertible {
        let counts: [Int64]

        /// The upper bound, in seconds, of the range that contains this quantile; infinity if it is above all bounds; nil if
        /// nothing was measured.
        func quantile(_ share: Double) -> Double? {
            let total = counts.reduce(0, +)
            guard total > 0 else { return nil }
            var seen: Int64 = 0
            for (index, count) in counts.enumerated() {
                seen += count
                if Double(seen) >= Double(total) * share {
                    return index < DurationHistogram.seconds.count ? DurationHistogram.seconds[index] : .infinity
                }
            }
            return nil
        }

        /// The quantile as text, for example "at most 25 ms": only its range is known.
        func text(_ share: Double) -> String {
            guard let seconds = quantile(share), let longest = DurationHistogram.seconds.last else { return "–" }
            return seconds.isFinite
                ? "at most \(Quantity.duration(seconds))" : "more than \(Quantity.duration(longest))"
        }

        var tile: (value: String, note: String) {
            guard quantile(0.5) != nil else { return ("–", "none in the last minute") }
            return (text(0.5), "95 % in \(text(0.95)), 99 % in \(text(0.99))")
        }

        var json: JSONValue {
            func member(_ share: Double) -> Double? { quantile(share).flatMap { $0.isFinite ? $0 : nil } }
            return ["count": counts.reduce(0, +), "p50": member(0.5), "p95": member(0.95), "p99": member(0.99)]
        }
    }

    private static let statement = Statement(
        "web_latency",
        """
        SELECT coalesce(sum(u.waits), 0)::int8 AS waits, coalesce(sum(u.answers), 0)::int8 AS answers
        FROM carillon.worker_status s JOIN carillon.workers w ON w.id = s.id
        CROSS JOIN LATERAL unnest(w.waits, w.answers) WITH ORDINALITY AS u(waits, answers, place)
        WHERE s.state <> 'silent' GROUP BY u.place ORDER BY u.place
        """
    )

    /// From enqueueing to the first claim.
    let waits: Counts
    /// From sending a request to Apple's answer.
    let answers: Counts

    init(from database: ServiceRunner) async throws {
        let ranges: [RangeCounts] = try await database.values(of: Self.statement)
        waits = Counts(counts: ranges.map(\.waits))
        answers = Counts(counts: ranges.map(\.answers))
    }

    var json: JSONValue { ["wait_seconds": waits, "answer_seconds": answers] }
}

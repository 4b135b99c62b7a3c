import TestSupport

@testable import CarillonBenchmarks

/// The part of `docs/benchmarks.md` that is made from `docs/peers.json`, and its plots.
enum PeersPage {
    private static let begin = "<!-- `make plots` writes this from peers.json. -->\n"
    private static let end = "<!-- end of peers -->\n"
    private static let unmeasured = "No figures have been recorded yet.\n"

    /// The kinds of rows that are compared, by the tokens of a row: their heading, and the file of their plot.
    private static let kinds = [
        (tokens: 1, title: "One-token rows", plot: "peers-rows.svg"),
        (tokens: 1000, title: "Rows of 1,000 tokens", plot: "peers-tokens.svg"),
    ]

    /// The page with these figures; nil: it has no place for them.
    static func text(_ page: String, with record: PeersRecord?) -> String? {
        guard let start = page.firstRange(of: begin), let stop = page.firstRange(of: end) else { return nil }
        return "\(page[..<start.upperBound])\n\(record.map(tables) ?? unmeasured)\n\(page[stop.lowerBound...])"
    }

    /// The rates with the gateway 20 ms away, by the file in `docs/plots`.
    static func plots(of record: PeersRecord) -> [(file: String, plot: Plot)] {
        kinds.map { kind in
            let figures = record.rows.filter { $0.tokens == kind.tokens && $0.latency > 0 }.map { row in
                Figure(name: row.peer, value: row.rate, unit: .rate, bound: nil, isJudged: false)
            }
            let title = "make peers: \(kind.title.lowercased()), pushes a second, 20 ms away"
            return (kind.plot, Plot(title: title, caption: place(of: record), figures: figures))
        }
    }

    private static func place(of record: PeersRecord) -> String { "\(record.machine), commit \(record.commit)" }

    private static func tables(of record: PeersRecord) -> String {
        let peers = record.peers.map { "| \($0.peer) | \($0.version) | \($0.settings) |\n" }.joined()
        let missing = record.missing.map { "- \($0.peer): \($0.why).\n" }.joined()
        return """
            \(place(of: record)):

            \(kinds.map { table($0.tokens, $0.title, $0.plot, of: record) }.joined(separator: "\n"))
            The peers:

            | peer | version | settings |
            |---|---|---|
            \(peers)
            Not compared:

            \(missing)
            """
    }

    private static func table(_ tokens: Int, _ title: String, _ plot: String, of record: PeersRecord) -> String {
        let rows = record.rows.filter { $0.tokens == tokens }.map { row in
            let cells = [
                row.peer, "\(row.latency) ms", Figure.Unit.rate.text(of: row.rate),
                text(row.p50, .milliseconds), text(row.p99, .milliseconds), text(row.worker, .microseconds),
                text(row.postgres, .microseconds), text(row.wal, .bytes), text(row.lost.map(Double.init), .count),
                text(row.doubled.map(Double.init), .count), text(row.overtaken, .seconds),
            ]
            return "| \(cells.joined(separator: " | ")) |\n"
        }
        return """
            ### \(title)

            | peer | away | pushes/s | p50 | p99 | worker | PostgreSQL | WAL | lost | doubled | overtaken |
            |---|---|---|---|---|---|---|---|---|---|---|
            \(rows.joined())
            ![\(title), 20 ms away](plots/\(plot))

            """
    }

    private static func text(_ value: Double?, _ unit: Figure.Unit) -> String { value.map(unit.text(of:)) ?? "" }
}

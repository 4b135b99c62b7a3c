import CarillonIO

/// `carillon tokens import` of a file with the time and the owner of each token, in random order: first into an empty table, and
/// then again, which writes nothing.
struct ImportBenchmark {
    let tokens: Int

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let folder = try ScratchFolder()
            let words = ["tokens", "import", "--app", "bench", try folder.write("tokens.csv", file)]
            // A million a minute; aim for ten million.
            let bound = Figure.Bound.atLeast(16_667, aim: 166_667)
            let first = try await installation.run(words)
            report.add("tokens imported a second", Double(tokens) / first.seconds, .rate, bound)
            let count = try await installation.number("SELECT count(*) FROM carillon.tokens")
            guard count == tokens else { throw BenchmarkError("\(count) tokens are registered.") }
            report.add("  peak memory of the program", Double(first.peakMemory) / 1e6, .megabytes, .atMost(60))
            let before = try await installation.number("SELECT pg_current_wal_lsn() - '0/0'")
            let second = try await installation.run(words)
            report.add("the same tokens imported again a second", Double(tokens) / second.seconds, .rate, bound)
            let written = try await installation.number("SELECT pg_current_wal_lsn() - '0/0'") - before
            report.add("  WAL written meanwhile a token", Double(written) / Double(tokens), .bytes)
        }
    }

    private var file: String {
        var random = SeededGenerator(seed: 1)
        return (0..<tokens).reduce(into: "token,last_update,owner\n") { text, number in
            for _ in 0..<4 {
                let word = String(random.next(), radix: 16)
                text += String(repeating: "0", count: 16 - word.count) + word
            }
            text += ",\(1_700_000_000 + number % 10_000_000),user-\(number)\n"
        }
    }
}

import IO

/// `carillon tokens import` of a file with the time and the owner of each token, in no order: into an empty table, and
/// then over itself, which writes nothing.
struct ImportBenchmark {
    let tokens: Int

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let folder = try ScratchFolder()
            let file = try self.write(to: folder)
            let first = try await self.pass(file, on: installation, into: &report, "tokens imported a second")
            let count = try await installation.number("SELECT count(*) FROM carillon.tokens")
            guard count == self.tokens else { throw BenchmarkError("\(count) tokens are there.") }
            report.memory("  peak memory of the program", first, atMost: 60_000_000)
            let before = try await installation.number("SELECT pg_current_wal_lsn() - '0/0'")
            _ = try await self.pass(file, on: installation, into: &report, "the same again a second")
            let written = try await installation.number("SELECT pg_current_wal_lsn() - '0/0'") - before
            report.note(
                "  WAL written meanwhile a token",
                "\(Report.decimals(Double(written) / Double(self.tokens))) B"
            )
        }
    }

    /// The peak memory.
    private func pass(
        _ file: String,
        on installation: Installation,
        into report: inout Report,
        _ name: String
    ) async throws -> Int {
        let start = MonotonicInstant.now
        let process = try CommandProcess(["tokens", "import", "--app", "bench", file], on: installation.url)
        let memory = try await process.wait(on: installation.loop).peakMemory
        let seconds = (MonotonicInstant.now - start) / .seconds(1)
        // A million a minute, and ten.
        report.rate(name, Double(self.tokens) / seconds, atLeast: 16_667, aim: 166_667)
        return memory
    }

    private func write(to folder: ScratchFolder) throws -> String {
        var random = SeededGenerator(seed: 1)
        var count = -1
        return try folder.write("tokens.csv") {
            defer { count += 1 }
            if count == self.tokens { return nil }
            if count < 0 { return "token,last_update,owner\n" }
            let token = (0..<4).reduce(into: "") { text, _ in
                let word = String(random.next(), radix: 16)
                text += String(repeating: "0", count: 16 - word.count) + word
            }
            return "\(token),\(1_700_000_000 + count % 10_000_000),user-\(count)\n"
        }
    }
}

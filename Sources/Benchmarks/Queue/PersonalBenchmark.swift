/// The whole path for rows of 1,000 tokens with one payload for all, and for rows with a payload for each token, in turn.
struct PersonalBenchmark {
    /// Rows of each kind in each round.
    let rows: Int

    private static let rounds = 3
    private static let tokensPerRow = 1000

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            _ = try await rate(isPersonal: false, in: installation)
            let (shared, personal) = try await Sample.inTurn(rounds: Self.rounds) {
                try await rate(isPersonal: false, in: installation)
            } _: {
                try await rate(isPersonal: true, in: installation)
            }
            let all = rows * (2 * Self.rounds + 1)
            try await installation.check(sent: all * Self.tokensPerRow, rows: all)
            report.add("rows of 1,000 with one payload, tokens a second", shared.median, .rate)
            report.add("rows of 1,000 with 1,000 payloads, tokens a second", personal.median, .rate)
            report.add(
                "rate with 1,000 payloads / with one payload",
                personal.median / shared.median,
                .ratio,
                .atLeast(0.8)
            )
        }
    }

    /// Tokens claimed, sent and settled in a second.
    private func rate(isPersonal: Bool, in installation: Installation) async throws -> Double {
        try await installation.fill(rows, tokensPerRow: Self.tokensPerRow, isPersonal: isPersonal)
        let drain = try await installation.run(["worker", "--once"])
        return Double(rows * Self.tokensPerRow) / drain.seconds
    }
}

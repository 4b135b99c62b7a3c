import ApplePushSimulator
import CarillonIO
import Testing

/// Faults that only a long run shows.
@Suite struct SoakCases {
    @Test(.soak)
    func `L1: after a long run of random faults a worker holds no more than soon after its start`() async throws {
        let duration = try #require(Board.soak)
        try await Scene.with({
            $0.answers = [
                try AnswerRule(prefix: "dead", status: 410),
                try AnswerRule(prefix: "b5b5", status: 503, times: 2),
            ]
            $0.goAwayAfter = 2000
        }) { scene in
            // A fraction of what it could send: the ledger keeps all of it.
            try await scene.client.run("UPDATE carillon.apps SET max_rate = 600")
            try await scene.withProxyToGateway { proxy in
                var soak = try await Soak(in: scene, behind: proxy)
                try await scene.underLoad(depth: 600) { try await soak.goOn(for: duration) }
                try await scene.finish(duplicates: soak.duplicates)
                let curve = soak.curve
                for fifth in 0..<5 {
                    print(
                        "fault board: L1: fifth \(fifth + 1): memory "
                            + "\(curve.median(of: \.memory, inFifth: fifth) >> 10) KiB, "
                            + "\(curve.median(of: \.descriptors, inFifth: fifth)) descriptors, "
                            + "\(curve.median(of: \.threads, inFifth: fifth)) threads"
                    )
                }
                let faults = soak.faults.map { "\($0.rawValue) \($1)" }.sorted().joined(separator: ", ")
                print("fault board: L1: \(soak.faults.values.reduce(0, +)) faults: \(faults)")
                #expect(curve.growth(of: \.memory) <= 1.05)
                #expect(curve.growth(of: \.threads) <= 1)
                // As many as there are connections just now.
                #expect(
                    curve.median(of: \.descriptors, inFifth: 4)
                        <= curve.median(of: \.descriptors, inFifth: 1) + Soak.connections
                )
            }
        }
    }
}

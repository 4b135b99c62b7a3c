import TestSupport
import Testing

/// Requests, settings, drains and cancellations in any order, read by nghttp2's decoder.
@Suite struct RequestEncoderFuzzTests {
    @Test func `the peer reads exactly the requests that were made, whatever it allows`() async throws {
        var (read, continued, cancelled) = (0, 0, 0)
        try await Fuzzing.seeds(150) { seed in
            let run = try EncoderRun(seed: seed)
            do {
                try run.run(steps: 300)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            for mismatch in run.mismatches { Issue.record("seed \(seed): \(mismatch)") }
            #expect(run.client.reader.decoder.tableSize == run.client.tableSize, "seed \(seed)")
            read += run.client.reader.requests.count
            continued += run.client.reader.requests.count { $0.frames.count > 1 }
            cancelled += run.cancelled
        }
        #expect(read > 1_000 && continued > 10 && cancelled > 100, "the runs get far enough to matter")
    }
}

import ApplePush
import Testing

@testable import CarillonDashboard

@Suite struct LatencyTests {
    @Test func `of a quantile, only the range is known, and the tile says so`() {
        let bounds = DurationHistogram.seconds
        var counts = Array(repeating: Int64(0), count: bounds.count + 1)
        counts[2] = 9
        counts[bounds.count] = 1
        let (most, all) = (Quantity.duration(bounds[2]), Quantity.duration(bounds[bounds.count - 1]))
        let tile = Latency.Counts(counts: counts).tile
        #expect(tile.value == "at most \(most)" && tile.note == "95 % in more than \(all), 99 % in more than \(all)")
        #expect(Latency.Counts(counts: []).tile.value == "–")
    }
}

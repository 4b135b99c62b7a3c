/// Measurements of one thing, in ascending order.
struct Sample {
    private let values: [Double]

    init(_ values: [Double]) {
        precondition(!values.isEmpty, "nothing was measured")
        self.values = values.sorted()
    }

    var median: Double { self[0.5] }

    /// The mean without the lowest and the highest tenth, which other work on the machine distorts.
    var middle: Double {
        let cut = values.count / 10
        let kept = values[cut..<values.count - cut]
        return kept.reduce(0, +) / Double(kept.count)
    }

    /// Two measurements in turn, so that a change of the machine's speed affects both.
    static func inTurn(
        rounds: Int,
        _ one: () async throws -> Double,
        _ other: () async throws -> Double
    ) async throws -> (Sample, Sample) {
        var values: (one: [Double], other: [Double]) = ([], [])
        for _ in 0..<rounds {
            values.one.append(try await one())
            values.other.append(try await other())
        }
        return (Sample(values.one), Sample(values.other))
    }

    /// The smallest value that this share of the measurements does not exceed.
    subscript(_ share: Double) -> Double {
        let index = (share * Double(values.count)).rounded(.up) - 1
        return values[min(values.count - 1, max(0, Int(index)))]
    }
}

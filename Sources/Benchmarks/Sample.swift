/// Measurements of one thing, in the order of their size.
struct Sample {
    private let values: [Double]

    init(_ values: [Double]) {
        precondition(!values.isEmpty, "nothing was measured")
        self.values = values.sorted()
    }

    var median: Double { self[0.5] }

    /// The mean of all but the tenth at either end, which is what the machine did meanwhile.
    var middle: Double {
        let cut = self.values.count / 10
        let kept = self.values[cut..<self.values.count - cut]
        return kept.reduce(0, +) / Double(kept.count)
    }

    /// The least value that so large a part of them does not exceed.
    subscript(_ part: Double) -> Double {
        let place = (part * Double(self.values.count)).rounded(.up) - 1
        return self.values[min(self.values.count - 1, max(0, Int(place)))]
    }
}

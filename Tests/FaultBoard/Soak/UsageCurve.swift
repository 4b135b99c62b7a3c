/// The resources of a process over time, and whether they have grown. A value.
struct UsageCurve {
    private(set) var samples: [Usage] = []

    mutating func append(_ usage: Usage) { samples.append(usage) }

    /// The median in that fifth of the time, 0 to 4. Single peaks do not count.
    func median(of figure: (Usage) -> Int, inFifth fifth: Int) -> Int {
        let bounds = (samples.count * fifth / 5)..<(samples.count * (fifth + 1) / 5)
        let sorted = samples[bounds].map(figure).sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// By how much the last fifth holds more than the second; the first is for warming up.
    func growth(of figure: (Usage) -> Int) -> Double {
        Double(median(of: figure, inFifth: 4)) / Double(max(1, median(of: figure, inFifth: 1)))
    }
}

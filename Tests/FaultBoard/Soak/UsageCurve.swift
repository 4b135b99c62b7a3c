/// What a process held over a long time, in the order of the looks, and whether that has grown. A value.
struct UsageCurve {
    private(set) var looks: [Usage] = []

    mutating func append(_ usage: Usage) { looks.append(usage) }

    /// The middle value of what was held in that fifth of the time, 0 to 4. One peak more or less is none of its business.
    func median(of figure: (Usage) -> Int, inFifth fifth: Int) -> Int {
        let bounds = (looks.count * fifth / 5)..<(looks.count * (fifth + 1) / 5)
        let sorted = looks[bounds].map(figure).sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// By how much the last fifth holds more than the second; the first is for warming up.
    func growth(of figure: (Usage) -> Int) -> Double {
        Double(median(of: figure, inFifth: 4)) / Double(max(1, median(of: figure, inFifth: 1)))
    }
}

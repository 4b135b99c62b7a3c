struct Report {
    private(set) var figures: [Figure] = []
    /// Whether figures are judged by their bounds; if not, the bounds are only shown.
    private let isJudged: Bool

    init(isJudged: Bool) { self.isJudged = isJudged }

    var hasMissed: Bool { figures.contains { $0.isMet == false } }

    mutating func add(_ name: String, _ value: Double, _ unit: Figure.Unit, _ bound: Figure.Bound? = nil) {
        let figure = Figure(name: name, value: value, unit: unit, bound: bound, isJudged: isJudged)
        print("  \(name): \(figure.text)")
        figures.append(figure)
    }

    static func table(of reports: [Report]) -> String {
        let figures = reports.flatMap(\.figures)
        let name = figures.map(\.name.count).max() ?? 0
        let value = figures.map(\.text.count).max() ?? 0
        let rows = figures.map { figure in
            let gap = String(repeating: " ", count: name - figure.name.count)
            let indent = String(repeating: " ", count: value - figure.text.count)
            let mark = figure.isMet.map { $0 ? "ok" : "MISSED" } ?? ""
            return "  \(figure.name)\(gap)  \(indent)\(figure.text)  \(figure.boundText)  \(mark)"
        }
        return (["", "figures of this run:"] + rows).joined(separator: "\n")
    }
}

import CarillonIO
import CarillonPushRules
import CarillonText

/// Shows an import on standard error while it runs: the first refused lines, and a progress line.
struct ImportDisplay {
    private static let maxRefusals = 10

    let console: Console
    let start: MonotonicInstant
    /// In bytes; nil if unknown.
    let size: Int?
    private let line: ProgressLine
    private var refusals = 0

    init(console: Console, start: MonotonicInstant, size: Int?) {
        self.console = console
        self.start = start
        self.size = size
        line = ProgressLine(console.errors)
    }

    mutating func show(_ tally: ImportTally, _ refused: [RefusedLine]) {
        let news = refused.prefix(Self.maxRefusals - refusals)
        if !news.isEmpty { line.clear() }
        for refusal in news { console.note(refusal.sentence) }
        refusals += news.count
        line.show(Self.text(tally, size: size, after: (MonotonicInstant.now - start).seconds))
    }

    func end(_ tally: ImportTally, otherColumns: [String], unknownKinds: [TokenKind], hasFile: Bool) {
        line.clear()
        if !otherColumns.isEmpty {
            let columns = otherColumns.map(\.visible).joined(separator: ", ")
            console.note("Ignored columns: \(columns)")
        }
        if !unknownKinds.isEmpty {
            let kinds = unknownKinds.map(\.rawValue).joined(separator: ", ")
            console.warn(
                "Carillon does not know these kinds of tokens: \(kinds). Only a broadcast of such a kind reaches them."
            )
        }
        guard tally.refused > 0 else { return }
        let count = tally.refused == 1 ? "1 line was refused" : "\(tally.refused.grouped) lines were refused"
        let shown = tally.refused > refusals ? "; these are the first \(refusals)" : ""
        let advice = hasFile || shown.isEmpty ? "" : ", --rejects FILE keeps all"
        console.warn(count + shown + advice + ".")
    }

    static func text(_ tally: ImportTally, size: Int?, after seconds: Double) -> String {
        let lines = tally.written + tally.refused
        var text = "\(lines.grouped) lines, \(Int(Double(lines) / max(0.1, seconds)).grouped) a second"
        if tally.refused > 0 { text += ", \(tally.refused.grouped) refused" }
        // Some of what was read is not written yet, so only the written share of it counts.
        guard let size, size > 0, tally.lines > 0, lines > 0 else { return text }
        let part = min(1, Double(tally.bytes) / Double(size) * Double(lines) / Double(tally.lines))
        let rest = Duration.seconds((seconds / part - seconds).rounded(.up))
        return "\(Int(part * 100)) %: " + text + "; \(DurationText.write(rest)) to go"
    }
}

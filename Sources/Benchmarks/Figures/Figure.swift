/// One measured number, and the bound that it must meet.
struct Figure {
    enum Unit: String, Codable {
        case rate, count, ratio, milliseconds, microseconds, seconds, percent, megabytes, bytes

        func text(of value: Double) -> String {
            switch self {
            case .rate, .count: Figure.grouped(value)
            case .ratio: Figure.decimals(value)
            case .milliseconds: "\(Figure.short(value)) ms"
            case .microseconds: "\(Figure.short(value)) µs"
            case .seconds: "\(Figure.short(value)) s"
            case .percent: "\(Figure.short(value)) %"
            case .megabytes: "\(Figure.short(value)) MB"
            case .bytes: "\(Figure.short(value)) B"
            }
        }
    }

    enum Bound {
        /// The smallest acceptable value, and optionally the value that we hope for.
        case atLeast(Double, aim: Double? = nil)
        case atMost(Double)
    }

    /// Indented by two spaces if it belongs to the figure before it.
    let name: String
    let value: Double
    let unit: Unit
    let bound: Bound?
    let isJudged: Bool

    var text: String { unit.text(of: value) }

    var boundText: String {
        switch bound {
        case .atLeast(let least, let aim):
            "at least \(unit.text(of: least))" + (aim.map { ", hoped for: \(unit.text(of: $0))" } ?? "")
        case .atMost(let most): "at most \(unit.text(of: most))"
        case nil: ""
        }
    }

    /// Whether the bound is met; nil if there is no bound or it is not judged.
    var isMet: Bool? {
        switch bound {
        case .atLeast(let least, _)? where isJudged: value >= least
        case .atMost(let most)? where isJudged: value <= most
        default: nil
        }
    }

    /// 1234567.8 as "1,234,568".
    static func grouped(_ value: Double) -> String {
        let digits = Array(String(Int(value.rounded())))
        return digits.indices.reduce(into: "") { text, index in
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digits[index])
        }
    }

    /// 21.0 as "21", 5.31 as "5.31", 58,123.4 as "58,123".
    fileprivate static func short(_ value: Double) -> String {
        if value >= 1_000 { return grouped(value) }
        let text = decimals(value)
        guard text.hasSuffix("0") else { return text }
        return String(text.dropLast(text.hasSuffix(".00") ? 3 : 1))
    }

    /// 0.876 as "0.88".
    fileprivate static func decimals(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}

import CarillonSchema
import CarillonText

/// Formats numbers so that they can be read at a glance.
enum Quantity {
    /// 950, 12.3k, 1.2M: for headings and axes.
    static func short(_ count: Int64) -> String {
        let magnitude = Double(count.magnitude)
        for (size, unit) in [(1e9, "G"), (1e6, "M"), (1e4, "k")] where magnitude >= size {
            let scale = unit == "k" ? 1e3 : size
            return oneDigit(Double(count) / scale) + unit
        }
        return Int(count).grouped
    }

    /// Pushes a second: "0.2", "14", "1,200".
    static func rate(_ perSecond: Double) -> String {
        perSecond < 10 ? oneDigit(perSecond) : Int(perSecond.rounded()).grouped
    }

    /// The same with its precision: "about 12.3k".
    static func short(_ amount: Amount) -> String { amount.prefixed(short(amount.value)) }

    /// "25 ms", "2.5 s", "5 min", "2 h", with a space that does not break.
    static func duration(_ seconds: Double) -> String {
        if seconds < 1 { return oneDigit(seconds * 1_000) + "\u{a0}ms" }
        if seconds < 60 { return oneDigit(seconds) + "\u{a0}s" }
        return seconds < 3_600 ? oneDigit(seconds / 60) + "\u{a0}min" : oneDigit(seconds / 3_600) + "\u{a0}h"
    }

    private static func oneDigit(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}

/// Reads a time as programs export it: ISO 8601 or PostgreSQL's format with a time zone, or a number since 1970.
///
/// A time without a zone is refused: it is ambiguous, and a wrong guess could mark a live token as dead.
package struct TimeReader {
    package enum Reading: Equatable {
        /// Microseconds since 1970.
        case time(Int64)
        /// What is wrong: the end of a sentence that begins with the text that was read.
        case wrong(String)
    }

    private var rest: ArraySlice<UInt8>

    private init(_ text: ArraySlice<UInt8>) { rest = text }

    package static func read(_ text: ArraySlice<UInt8>) -> Reading {
        let text = text.trimmed
        if text.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }) { return number(text) }
        var reader = TimeReader(text)
        guard let local = reader.dateAndTime() else { return .wrong(form) }
        reader.rest = reader.rest.trimmed
        if reader.rest.isEmpty { return .wrong("has no time zone: write Z or +00:00 after it") }
        guard let offset = reader.zone(), reader.rest.isEmpty else { return .wrong(form) }
        return .time(local - offset * 1_000_000)
    }

    private static let form = "is neither a time such as 2026-01-31T12:00:00Z nor seconds since 1970"

    /// Seconds, milliseconds and microseconds since 1970 are told apart by their size. A number that would mean a time before
    /// September 2001 is refused: it is probably something else, such as 20240131.
    private static func number(_ text: ArraySlice<UInt8>) -> Reading {
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (10...16).contains(whole.count), whole.first != UInt8(ascii: "0"),
            let value = Int64(String(decoding: whole, as: UTF8.self))
        else { return .wrong(form) }
        let unit: Int64
        switch whole.count {
        case 10: unit = 1_000_000
        case 13: unit = 1_000
        case 16: unit = 1
        default: return .wrong(form)
        }
        guard parts.count == 2 else { return .time(value * unit) }
        var fraction = TimeReader(parts[1])
        guard let part = fraction.fraction(of: unit), fraction.rest.isEmpty else { return .wrong(form) }
        return .time(value * unit + part)
    }

    // MARK: Parts

    private mutating func dateAndTime() -> Int64? {
        guard let year = digits(4), take(UInt8(ascii: "-")), let month = digits(2), take(UInt8(ascii: "-")),
            let day = digits(2), year >= 1970, (1...12).contains(month), (1...Self.days(of: month, year)).contains(day)
        else { return nil }
        guard take(UInt8(ascii: "T")) || take(UInt8(ascii: "t")) || take(UInt8(ascii: " ")) else {
            return rest.isEmpty ? Self.days(year, month, day) * 86_400_000_000 : nil
        }
        guard let hour = digits(2), hour < 24, take(UInt8(ascii: ":")), let minute = digits(2), minute < 60 else {
            return nil
        }
        var microseconds: Int64 = 0
        if take(UInt8(ascii: ":")) {
            guard let second = digits(2), second <= 60 else { return nil }
            microseconds = second * 1_000_000
            if take(UInt8(ascii: ".")) || take(UInt8(ascii: ",")) {
                guard let part = fraction(of: 1_000_000) else { return nil }
                microseconds += part
            }
        }
        let minutes = Self.days(year, month, day) * 1440 + hour * 60 + minute
        return minutes * 60_000_000 + microseconds
    }

    /// The offset from UTC, in seconds.
    private mutating func zone() -> Int64? {
        for name in ["Z", "z", "UTC", "GMT"] where rest.elementsEqual(name.utf8) {
            rest = []
            return 0
        }
        let isWest = take(UInt8(ascii: "-"))
        guard isWest || take(UInt8(ascii: "+")), let hours = digits(2), hours < 16 else { return nil }
        var seconds = hours * 3600
        for unit: Int64 in [60, 1] where !rest.isEmpty {
            _ = take(UInt8(ascii: ":"))
            guard let part = digits(2), part < 60 else { return nil }
            seconds += part * unit
        }
        return isWest ? -seconds : seconds
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    /// Parses exactly this many digits.
    private mutating func digits(_ count: Int) -> Int64? {
        guard rest.count >= count, rest.prefix(count).allSatisfy(Self.isDigit) else { return nil }
        defer { rest.removeFirst(count) }
        return rest.prefix(count).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// The digits after the point, as a fraction of the unit. Digits beyond its precision are cut off.
    private mutating func fraction(of unit: Int64) -> Int64? {
        let digits = rest.prefix(while: Self.isDigit)
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        var part: Int64 = 0
        var size = unit
        for digit in digits {
            size /= 10
            part += size * Int64(digit - UInt8(ascii: "0"))
        }
        return part
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1970 to a date of the Gregorian calendar. The year starts in March, so that the leap day is its last day and
    /// the number of days before a month is 30.6 times the month's index, rounded.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let years = month > 2 ? year : year - 1
        let months = month > 2 ? month - 3 : month + 9
        let leapDays = years / 4 - years / 100 + years / 400
        return years * 365 + leapDays + (months * 306 + 5) / 10 + day - 719_469
    }
}

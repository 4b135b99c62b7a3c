/// RFC 3339 in UTC with milliseconds, the text kept for as long as the millisecond lasts.
struct TimeText {
    private var milliseconds = Int64.min
    private(set) var bytes: [UInt8] = []

    mutating func set(_ now: Int64) {
        guard now != milliseconds else { return }
        milliseconds = now
        bytes.removeAll(keepingCapacity: true)
        let (days, ofDay) = now.quotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.civil(days)
        let (seconds, fraction) = ofDay.quotientAndRemainder(dividingBy: 1000)
        append(year, 4)
        append(month, 2, after: "-")
        append(day, 2, after: "-")
        append(seconds / 3600, 2, after: "T")
        append(seconds / 60 % 60, 2, after: ":")
        append(seconds % 60, 2, after: ":")
        append(fraction, 3, after: ".")
        bytes.append(UInt8(ascii: "Z"))
    }

    private mutating func append(_ number: Int64, _ width: Int, after mark: StaticString = "") {
        bytes.append(mark)
        var scale: Int64 = 1
        for _ in 1..<width { scale *= 10 }
        while scale > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / scale % 10))
            scale /= 10
        }
    }

    /// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar; years are counted from March,
    /// so that the leap day comes last.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let ofEra = shifted % 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * ofYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * fromMarch + 2) / 5 + 1)
    }
}

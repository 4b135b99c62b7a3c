/// A day of the Gregorian calendar, and its number since 1970.
///
/// The year starts in March, so that the leap day is its last day, and the days before a month are 30.6 times its number,
/// rounded.
struct CalendarDay {
    private static let daysOf400Years: Int64 = 146_097
    /// From March 1 of the year 0 to 1970.
    private static let offset: Int64 = 719_468

    let year: Int64
    let month: Int64
    let day: Int64

    /// Nil: that month has no such day.
    init?(_ year: Int64, _ month: Int64, _ day: Int64) {
        guard (1...12).contains(month), (1...Self.days(of: month, year)).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    init(number: Int64) {
        let shifted = number + Self.offset
        let era = (shifted >= 0 ? shifted : shifted - Self.daysOf400Years + 1) / Self.daysOf400Years
        let dayOfEra = shifted - era * Self.daysOf400Years
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let months = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (months * 306 + 5) / 10 + 1
        month = months < 10 ? months + 3 : months - 9
        year = yearOfEra + era * 400 + (months < 10 ? 0 : 1)
    }

    /// For years from 1 on.
    var number: Int64 {
        let years = month > 2 ? year : year - 1
        let months = month > 2 ? month - 3 : month + 9
        let leapDays = years / 4 - years / 100 + years / 400
        return years * 365 + leapDays + (months * 306 + 5) / 10 + day - 1 - Self.offset
    }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

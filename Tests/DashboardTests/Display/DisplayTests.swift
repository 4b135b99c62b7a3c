import ApplePush
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText
import CarillonWeb
import Testing

@testable import CarillonDashboard

/// How the dashboard writes what it has read.
@Suite struct DisplayTests {
    @Test func `numbers are short, and ages have two units`() {
        let shorts: [(Int64, String)] = [
            (0, "0"), (950, "950"), (9_999, "9,999"), (12_345, "12.3k"), (1_200_000, "1.2M"), (50_000_000, "50M"),
            (-20_000, "-20k"),
        ]
        for (count, text) in shorts { #expect(Quantity.short(count) == text) }
        for (rate, text) in [(0, "0"), (0.04, "0"), (0.25, "0.3"), (9.5, "9.5"), (1_234.4, "1,234")] {
            #expect(Quantity.rate(rate) == text)
        }
        let ages: [(Int64, String)] = [
            (-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (185, "3m 5s"), (3_600, "1h"), (90_000, "1d 1h"),
            (86_460, "1d"),
        ]
        for (age, text) in ages { #expect(DurationText.age(age) == text) }
        let amounts = [Amount(1_000), Amount(1_001, .atLeast), Amount(200_000, .about)]
        #expect(amounts.map(Quantity.short) == ["1,000", "at least 1,001", "about 200k"])
        #expect(amounts.map(\.text) == ["1,000", "at least 1,001", "about 200,000"])
        #expect((amounts[0] + amounts[0]).precision == .exact && (amounts[0] + amounts[1]).precision == .atLeast)
        #expect((amounts[0] + amounts[2]).precision == .about)
        let sum = amounts[1] + amounts[2]
        #expect(sum.text == "at least about 201,001" && (sum + amounts[0]).precision == sum.precision)
        #expect((sum + sum).precision == .atLeastAbout && (amounts[2] + amounts[2]).precision == .about)
    }

    @Test func `only both ends of a token are shown, unless it is allowed`() {
        let token = "0123456789abcdef0123456789abcdef"
        #expect(TokenDisplay(isWhole: false).text(token) == "01234567…cdef")
        #expect(TokenDisplay(isWhole: true).text(token) == token)
        #expect(!TokenDisplay(isWhole: false).html(token).markup.contains("trace"))
        #expect(TokenDisplay(isWhole: true).html(token).markup.contains("/trace?q=\(token)"))
    }

    @Test func `every reason has a sentence`() {
        let names = Reason.all.compactMap(\.reason.name) + LocalReason.allCases.map(\.name) + ["MalformedHeader"]
        let none = ReasonText.meaning(of: "NoSuchReason")
        for name in names { #expect(ReasonText.meaning(of: name) != none, "\(name)") }
    }

    @Test func `only what a statement was told is the fault of a request`() {
        for (state, status) in [
            (SQLState.badValue, ProblemStatus.badRequest), (SQLState.undefinedObject, .notFound),
        ] {
            #expect(RequestError(PostgresError(.server, "no", sqlState: state))?.status == status)
            #expect(RequestError(PostgresError(.unreachable, "no", sqlState: state))?.status == nil)
        }
    }

    @Test(arguments: [("acme", "acme"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$(rm)", "'$(rm)'"), ("", "''")])
    func `a word of a command can be pasted into a shell`(word: String, quoted: String) {
        #expect(word.shellQuoted == quoted)
    }
}

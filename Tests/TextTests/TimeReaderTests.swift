import CarillonIO
import CarillonText
import FoundationEssentials
import Testing

@Suite struct TimeReaderTests {
    private static func read(_ text: String) -> TimeReader.Reading { TimeReader.read(Array(text.utf8)[...]) }

    @Test(arguments: [
        ("2023-11-14T22:13:20Z", 1_700_000_000_000_000), ("2023-11-14 22:13:20.123456+00", 1_700_000_000_123_456),
        ("2023-11-15T00:13:20.5+02:00", 1_700_000_000_500_000), ("2023-11-14t16:43:20-0530", 1_700_000_000_000_000),
        ("2023-11-14 22:13:20,1234567 UTC", 1_700_000_000_123_456), ("2023-11-14 22:13 GMT", 1_699_999_980_000_000),
        (" 1700000000 ", 1_700_000_000_000_000), ("1700000000.123456", 1_700_000_000_123_456),
        ("1700000000123", 1_700_000_000_123_000), ("1700000000123.5", 1_700_000_000_123_500),
        ("1700000000123456", 1_700_000_000_123_456), ("1700000000123456.9", 1_700_000_000_123_456),
        ("1970-01-01T00:00:00Z", 0), ("2024-02-29T00:00:00z", 1_709_164_800_000_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000), ("2023-11-14 22:13:20+05:53:28", 1_699_978_792_000_000),
    ])
    func `a time is read as programs export it`(text: String, microseconds: Int64) {
        #expect(Self.read(text) == .time(microseconds))
    }

    @Test(arguments: ["2023-11-14T22:13:20", "2023-11-14 22:13:20.5", "2023-11-14", "2023-11-14 22:13"])
    func `a time without its zone is not one`(text: String) {
        #expect(Self.read(text) == .wrong("has no time zone: write Z or +00:00 after it"))
    }

    @Test(arguments: [
        "", "now", "infinity", "-1", "0", "20240131", "20240131120000", "170000000", "1700000000.", ".5", "1.2.3",
        "2023-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "2023-00-10T00:00:00Z", "1969-12-31T23:59:59Z",
        "2023-11-14T24:00:00Z", "2023-11-14T23:60:00Z", "2023-11-14T23:00:61Z", "2023-11-14T23:00:00.Z",
        "2023-11-14T23:00:00+", "2023-11-14T23:00:00+16", "2023-11-14T23:00:00+01:60", "2023-11-14T23:00:00Zulu",
        "14/11/2023 22:13", "0000-00-00 00:00:00Z", "99999999999999999999", "2023-11-14T23:00:00 CET",
        "12023-01-01T00:00Z",
    ])
    func `anything else is not one`(text: String) {
        #expect(Self.read(text) == .wrong("is neither a time such as 2026-01-31T12:00:00Z nor seconds since 1970"))
    }

    @Test func `every day is where the calendar has it`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            let seconds = Int64.random(in: 0..<4_000_000_000, using: &random)
            let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
            #expect(Self.read(text) == .time(seconds * 1_000_000), "\(text)")
        }
    }
}

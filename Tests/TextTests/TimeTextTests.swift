import CarillonIO
import CarillonText
import Testing

@Suite struct TimeTextTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_700_000_000_007, "2023-11-14T22:13:20.007Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (-2_208_988_800_000, "1900-01-01T00:00:00.000Z"),
        ] as [(Int64, String)]
    )
    func `times are written in UTC with milliseconds`(milliseconds: Int64, expected: String) {
        #expect(TimeText.milliseconds(milliseconds * 1_000) == expected)
        #expect(TimeText.seconds(milliseconds * 1_000) == expected.prefix(19) + "Z")
        #expect(TimeText.day(milliseconds * 1_000) == expected.prefix(10))
        #expect(TimeText.timeOfDay(milliseconds * 1_000) == expected.dropFirst(11).prefix(8))
    }

    @Test func `a time that is written is read as the same`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            let milliseconds = Int64.random(in: 0..<253_402_300_800_000, using: &random)
            let text = TimeText.milliseconds(milliseconds * 1_000)
            #expect(TimeReader.read(Array(text.utf8)[...]) == .time(milliseconds * 1_000), "\(text)")
        }
    }
}

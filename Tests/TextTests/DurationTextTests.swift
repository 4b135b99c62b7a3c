import CarillonText
import Testing

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("250ms", Duration.milliseconds(250)), ("10s", .seconds(10)), ("5m", .seconds(300)),
        ("1h30m", .seconds(5_400)), ("7d", .seconds(604_800)), ("1.5s", .milliseconds(1_500)), ("0s", .zero),
    ])
    func `a number and a unit is a duration`(text: String, duration: Duration) {
        #expect(DurationText.read(text) == duration)
    }

    @Test(arguments: [
        "", "10", "s", "10 s", "-5s", "5x", "1m1m", "1s1m", "1.s", "1.2.3s", "٣s", "99999999999999999999s", "1e3s",
    ])
    func `anything else is not one`(text: String) {
        #expect(DurationText.read(text) == nil)
    }

    @Test(arguments: ["250ms", "10s", "5m", "1h30m", "7d", "1m0s500ms", "0s"])
    func `a duration that is written reads as the same`(text: String) throws {
        let duration = try #require(DurationText.read(text))
        #expect(DurationText.read(DurationText.write(duration)) == duration)
    }
}

import ApplePush
import FoundationEssentials
import Testing

@Suite struct SoundTests {
    @Test func `a sound is written as its name`() {
        #expect(APNs.Sound.default.json == "default")
        #expect(APNs.Sound.named("bell.caf") == "bell.caf")
        #expect(APNs.Sound.named("bell.caf").name == "bell.caf")
        #expect(!APNs.Sound.default.isCritical)
        #expect(APNs.Sound.default.volume == nil)
    }

    @Test func `the sound of a critical alert is written with its volume`() {
        let sound = APNs.Sound.critical(name: "siren.caf", volume: 0.25)
        #expect(sound.json == ["critical": 1, "name": "siren.caf", "volume": 0.25])
        #expect(sound.isCritical)
        #expect(sound.name == "siren.caf")
        #expect(sound.volume == 0.25)
        #expect(APNs.Sound.critical().volume == 1)
    }

    @Test func `a sound may be given as Apple's object`() {
        let sound: APNs.Sound = ["critical": true, "name": "siren.caf", "pitch": 2]
        #expect(sound.isCritical)
        #expect(sound.members["pitch"] == 2)
    }
}

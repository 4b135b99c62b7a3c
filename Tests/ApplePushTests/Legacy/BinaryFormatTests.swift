import CarillonText
import Testing

@testable import ApplePush

/// The bytes of clients that were written by others for the same input.
@Suite struct BinaryFormatTests {
    private static let token = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

    private static func bytes(
        _ format: BinaryFormat,
        token: String = Self.token,
        payload: String,
        identifier: UInt32 = 0,
        expiration: Int64? = 1_700_000_000,
        priority: UInt8? = 10
    ) -> String {
        var batch = PushBatch()
        let heading = batch.addHeading(payload, priority: priority, expiration: expiration)
        batch.addPush(token, heading: heading, id: PushID(high: 1, low: 1))
        var output: [UInt8] = []
        let length = format.append(0, of: batch, identifier: identifier, to: &output)
        #expect(length == output.count)
        return output.hexadecimal
    }

    @Test func `command 2 is that of apns-client`() {
        let hello = Self.bytes(.frames, payload: #"{"aps":{"alert":"Hello","badge":1,"sound":"default"}}"#)
        #expect(
            hello == "020000006d010020\(Self.token)0200357b22617073223a7b22616c657274223a2248656c6c6f222c22626164676522"
                + "3a312c22736f756e64223a2264656661756c74227d7d030004000000000400046553f1000500010a"
        )
        let low = Self.bytes(.frames, payload: #"{"aps":{"alert":"Hello"}}"#, priority: 5)
        #expect(
            low == "0200000051010020\(Self.token)0200197b22617073223a7b22616c657274223a2248656c6c6f227d7d"
                + "030004000000000400046553f10005000105"
        )
        let emoji = Self.bytes(.frames, payload: #"{"aps":{"alert":"Héllo 😀"}}"#)
        #expect(
            emoji == "0200000057010020\(Self.token)02001f7b22617073223a7b22616c657274223a2248c3a96c6c6f20f09f9880227d7d"
                + "030004000000000400046553f1000500010a"
        )
    }

    @Test func `commands 0 and 1 are those of PyAPNs`() {
        let payload = #"{"aps":{"sound":"default","badge":1,"alert":"Hello"}}"#
        let rest =
            "0020\(Self.token)00357b22617073223a7b22736f756e64223a2264656661756c74222c226261646765"
            + "223a312c22616c657274223a2248656c6c6f227d7d"
        #expect(Self.bytes(.simple, payload: payload) == "00" + rest)
        #expect(Self.bytes(.enhanced, payload: payload, identifier: 0x0102_0304) == "01010203046553f100" + rest)
    }

    @Test func `an expiration is absent, zero or as late as the protocol can say`() {
        #expect(Self.bytes(.frames, payload: "{}", expiration: nil).hasSuffix("030004000000000500010a"))
        #expect(Self.bytes(.frames, payload: "{}", expiration: 0).hasSuffix("040004000000000500010a"))
        #expect(Self.bytes(.frames, payload: "{}", expiration: .max).hasSuffix("040004ffffffff0500010a"))
        #expect(Self.bytes(.enhanced, payload: "{}", expiration: nil).hasPrefix("0100000000ffffffff"))
    }

    @Test func `a token may have capital letters and any even number of digits`() {
        #expect(Self.bytes(.simple, token: "ABcdEF09", payload: "{}") == "000004abcdef0900027b7d")
    }

    @Test func `a priority of 1, which the protocol lacks, is 5`() {
        #expect(Self.bytes(.frames, payload: "{}", priority: 1).hasSuffix("05000105"))
    }

    @Test(arguments: BinaryFormat.allCases)
    func `a payload that no length can express is not written`(format: BinaryFormat) {
        var batch = PushBatch()
        let heading = batch.addHeading(String(repeating: "x", count: 65_536))
        batch.addPush("aa", heading: heading, id: PushID(high: 1, low: 1))
        var output: [UInt8] = []
        #expect(format.append(0, of: batch, identifier: 1, to: &output) == nil)
        #expect(output.isEmpty)
    }

    @Test func `a barrier has no token, and only formats with errors have one`() {
        var output: [UInt8] = []
        #expect(BinaryFormat.frames.appendBarrier(identifier: 7, to: &output) == output.count)
        #expect(output == [2, 0, 0, 0, 13, 1, 0, 0, 2, 0, 0, 3, 0, 4, 0, 0, 0, 7])
        #expect(BinaryFormat.simple.appendBarrier(identifier: 7, to: &output) == nil)
    }
}

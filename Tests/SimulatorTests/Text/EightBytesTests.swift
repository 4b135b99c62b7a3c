import Testing

@testable import ApplePushSimulator

@Suite struct EightBytesTests {
    @Test func `each byte is classified at each place`() {
        for byte in UInt8.min ... .max {
            let isLowercase = "0123456789abcdef".utf8.contains(byte)
            let isHexadecimal = isLowercase || "ABCDEF".utf8.contains(byte)
            for place in 0..<8 {
                for good in "09af".utf8 {
                    var word: UInt64 = 0
                    for index in 0..<8 { word = word << 8 | UInt64(index == place ? byte : good) }
                    #expect(EightBytes(word).areHexadecimal == isHexadecimal, "\(byte) at \(place)")
                    #expect(EightBytes(word).areLowercaseHexadecimal == isLowercase, "\(byte) at \(place)")
                }
            }
        }
    }

    private func isDeviceToken(_ token: [UInt8]) -> Bool { HeaderForm.isDeviceToken(token.span) }

    @Test func `a device token is checked to its last digit, however long it is`() {
        for count in stride(from: 64, through: 200, by: 2) {
            var token = [UInt8](repeating: UInt8(ascii: "A"), count: count)
            #expect(isDeviceToken(token))
            for place in 0..<count {
                token[place] = UInt8(ascii: "g")
                #expect(!isDeviceToken(token), "\(place) of \(count)")
                token[place] = UInt8(ascii: "0")
            }
        }
    }
}

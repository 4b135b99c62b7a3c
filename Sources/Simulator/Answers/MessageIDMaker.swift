/// Makes the `apns-id` for a request without one: a UUID in upper case, like Apple's, unique within a run.
struct MessageIDMaker {
    private static let digits: StaticString = "0123456789ABCDEF"

    private let high: UInt64
    private var low: UInt64

    init() {
        var random = SystemRandomNumberGenerator()
        // Version 8 and the variant of RFC 9562; the lowest 32 bits are a counter.
        high = random.next() & ~0xF000 | 0x8000
        low = random.next() & 0x3FFF_FFFF_0000_0000 | 0x8000_0000_0000_0000
    }

    mutating func append(to bytes: inout [UInt8]) {
        low &+= 1
        for index in 0..<32 {
            if index >= 8, index <= 20, index.isMultiple(of: 4) { bytes.append(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            bytes.append(Self.digits.utf8Start[Int(word >> UInt64(60 - index % 16 * 4) & 0xF)])
        }
    }
}

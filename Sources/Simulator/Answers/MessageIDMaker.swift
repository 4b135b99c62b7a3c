/// Makes the `apns-id` of a request that brought none: 36 bytes of a UUID in upper case, as Apple's are, no two alike in
/// one run.
struct MessageIDMaker {
    private static let digits: StaticString = "0123456789ABCDEF"

    private let high: UInt64
    private var low: UInt64

    init(high: UInt64, low: UInt64) {
        // Version 8 and the variant of RFC 9562, over bits of our own.
        self.high = high & ~0xF000 | 0x8000
        self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    init() {
        var random = SystemRandomNumberGenerator()
        self.init(high: random.next(), low: random.next() & 0xFFFF_FFFF_0000_0000)
    }

    mutating func append(to bytes: inout [UInt8]) {
        low &+= 1
        for shift in stride(from: 60, through: 0, by: -4) {
            if shift == 28 || shift == 12 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(Self.digits.utf8Start[Int(high >> UInt64(shift) & 0xF)])
        }
        for shift in stride(from: 60, through: 0, by: -4) {
            if shift == 60 || shift == 44 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(Self.digits.utf8Start[Int(low >> UInt64(shift) & 0xF)])
        }
    }
}

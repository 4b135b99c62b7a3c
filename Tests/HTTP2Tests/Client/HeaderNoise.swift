import TestSupport

/// Header blocks that are no compressor's work: fields of every form, indices of nothing, sizes out of bounds.
enum HeaderNoise {
    static func block(using random: inout some RandomNumberGenerator) -> [UInt8] {
        var block: [UInt8] = []
        for _ in 0..<Int.random(in: 0..<100, using: &random) {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...4: block += literal(using: &random)
            // A number in one of the two tables, or in none.
            case 5...7: block.append(0x80 | UInt8.random(in: 0..<80, using: &random))
            // An entry for the table, of a size that may push out all others.
            case 8: block += [0x40] + FrameBytes.string("apns-id") + text(upTo: 5_000, using: &random)
            case 9: block += [0x20 | UInt8.random(in: 0..<32, using: &random)]
            case 10: block += [0x3f, UInt8.random(in: 0...255, using: &random)]
            default: block.append(UInt8.random(in: 0...255, using: &random))
            }
        }
        return block
    }

    private static func literal(using random: inout some RandomNumberGenerator) -> [UInt8] {
        let names = ["apns-id", "apns-unique-id", "retry-after", ":status", "x", "Apns-Id", "connection", ""]
        let form: UInt8 = [0, 0x10, 0x40].randomElement(using: &random) ?? 0
        return [form] + FrameBytes.string(names.randomElement(using: &random) ?? "x")
            + text(upTo: 300, using: &random)
    }

    /// A string, in plain or with its bytes taken for Huffman codes.
    private static func text(upTo count: Int, using random: inout some RandomNumberGenerator) -> [UInt8] {
        let length = Int.random(in: 0..<count, using: &random)
        var string = FrameBytes.string(String(repeating: "7", count: length))
        if Int.random(in: 0..<8, using: &random) == 0 { string[0] |= 0x80 }
        return string
    }
}

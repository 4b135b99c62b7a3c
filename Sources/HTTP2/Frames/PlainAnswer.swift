/// The answer to nearly every push: `:status: 200` and `apns-id`, which nobody reads because the request had the same one, in one
/// HEADERS frame that ends the stream.
///
/// nghttp2 may read `:status` alone, and keeps the state of the stream and the connection as if it had read all: the frame, its
/// stream and its flags are the same. Its compression table stays the same too, because such a block neither uses nor changes it.
/// All that is lost is a check of the value: nghttp2 would end the connection over a wrong Huffman code.
enum PlainAnswer {
    /// END_STREAM and END_HEADERS; no padding, and no priority.
    static let flags: UInt8 = 0x5

    /// The field that is taken out.
    static let name = "apns-id"

    /// `:status: 200` by its number in the static table.
    static let block: UInt8 = 0x88

    /// What precedes the value, in eight bytes: `:status`, a literal field without indexing, the length of its name, and the name
    /// in Huffman codes. If the name is not coded, its last two letters follow.
    private static let coded = word(block, 0, 0x85, 0x1d, 0x75, 0x21, 0x63, 0x49)
    private static let plain = word(block, 0, 7, 0x61, 0x70, 0x6e, 0x73, 0x2d)
    private static let lastLetters: [UInt8] = [0x69, 0x64]

    /// The bit that says that a field shall never be indexed, which makes no difference here.
    private static let neverIndexed = word(0, 0x10, 0, 0, 0, 0, 0, 0)
    /// A length from here on takes more than one byte.
    private static let longLength: UInt8 = 0x7f

    static func isPlain(_ block: UnsafeRawBufferPointer) -> Bool {
        // The length of a name that is not coded is 7, so its value begins at the tenth byte.
        guard block.count > 10 else { return false }
        let start = block.loadUnaligned(as: UInt64.self).bigEndian & ~neverIndexed
        let valueStart: Int
        if start == coded {
            valueStart = 8
        } else if start == plain, block[8] == lastLetters[0], block[9] == lastLetters[1] {
            valueStart = 10
        } else {
            return false
        }
        let length = block[valueStart] & 0x7f
        return length != longLength && valueStart + 1 + Int(length) == block.count
    }

    private static func word(_ bytes: UInt8...) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Writes the primitives of header compression (RFC 7541) to memory that has room for them: integers, strings, and fields in each
/// representation.
///
/// Strings are not Huffman-coded: that would cost more processor time than all the rest of a request, and save a fifth of its bytes.
struct HPACK {
    /// The first bits of a representation, and how many bits of its first byte are left for an integer.
    struct Form {
        let bits: UInt8
        let prefix: UInt8

        static let indexed = Form(bits: 0x80, prefix: 7)
        /// The field enters the compression table.
        static let incremental = Form(bits: 0x40, prefix: 6)
        static let tableSize = Form(bits: 0x20, prefix: 5)
        /// The field enters no compression table, not even that of a proxy.
        static let neverIndexed = Form(bits: 0x10, prefix: 4)
        static let withoutIndexing = Form(bits: 0x00, prefix: 4)
        static let string = Form(bits: 0x00, prefix: 7)
    }

    /// An integer or the beginning of a representation takes at most this many bytes: its value is below 2^28.
    static let integerRoom = 6

    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    @inline(__always)
    mutating func integer(_ value: Int, _ form: Form) {
        precondition(memory.count - count >= Self.integerRoom && value >= 0 && value < 1 << 28)
        let limit = 1 << Int(form.prefix) - 1
        guard value >= limit else {
            memory[count] = form.bits | UInt8(truncatingIfNeeded: value)
            count += 1
            return
        }
        memory[count] = form.bits | UInt8(truncatingIfNeeded: limit)
        count += 1
        var rest = value - limit
        while rest >= 0x80 {
            memory[count] = UInt8(truncatingIfNeeded: rest) | 0x80
            count += 1
            rest >>= 7
        }
        memory[count] = UInt8(truncatingIfNeeded: rest)
        count += 1
    }

    @inline(__always)
    mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
        precondition(memory.count - count >= bytes.count)
        guard let source = bytes.baseAddress, let start = memory.baseAddress else { return }
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func string(_ bytes: UnsafeRawBufferPointer) {
        integer(bytes.count, .string)
        self.bytes(bytes)
    }

    /// The beginning of a literal field: its name, by its number in the tables if it has one there. The value follows.
    mutating func name(_ name: UnsafeRawBufferPointer, number: Int?, _ form: Form) {
        integer(number ?? 0, form)
        if number == nil { string(name) }
    }
}

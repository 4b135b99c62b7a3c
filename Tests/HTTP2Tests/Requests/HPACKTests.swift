import Testing

@testable import CarillonHTTP2

/// The examples of RFC 7541, appendix C.
@Suite struct HPACKTests {
    private func written(_ write: (inout HPACK) -> Void) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: 1_024, alignment: 1) { memory in
            var block = HPACK(memory)
            write(&block)
            return Array(memory[..<block.count])
        }
    }

    private func bytes<R>(_ text: String, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        Array(text.utf8).withUnsafeBytes(body)
    }

    @Test func `integers are written as in the examples`() {
        #expect(written { $0.integer(10, .tableSize) } == [0b0010_1010])
        #expect(written { $0.integer(1_337, .tableSize) } == [0b0011_1111, 0b1001_1010, 0b0000_1010])
        #expect(written { $0.integer(30, .tableSize) } == [0x3e])
        #expect(written { $0.integer(31, .tableSize) } == [0x3f, 0])
        #expect(written { $0.integer(1 << 28 - 1, .neverIndexed) } == [0x1f, 0xf0, 0xff, 0xff, 0x7f])
    }

    @Test func `a literal field may be indexed`() {
        let field = bytes("custom-key") { name in
            bytes("custom-header") { value in
                written {
                    $0.name(name, number: nil, .incremental)
                    $0.string(value)
                }
            }
        }
        #expect(field == [0x40, 10] + Array("custom-key".utf8) + [13] + Array("custom-header".utf8))
    }

    @Test func `a literal field may be marked as never indexed`() {
        let field = bytes("password") { name in
            bytes("secret") { value in
                written {
                    $0.name(name, number: nil, .neverIndexed)
                    $0.string(value)
                }
            }
        }
        #expect(field == [0x10, 8] + Array("password".utf8) + [6] + Array("secret".utf8))
    }

    @Test func `a name in the table is written as its number`() {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(written { $0.name(nothing, number: 4, .withoutIndexing) } == [4])
        #expect(written { $0.name(nothing, number: 23, .neverIndexed) } == [0x1f, 8])
        #expect(written { $0.integer(2, .indexed) } == [0x82])
    }
}

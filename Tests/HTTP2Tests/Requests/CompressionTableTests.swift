import Testing

@testable import CarillonHTTP2

@Suite struct CompressionTableTests {
    private func find(_ name: String, _ value: String, in table: CompressionTable) -> CompressionTable.Match {
        Array(name.utf8).withUnsafeBytes { name in
            Array(value.utf8).withUnsafeBytes { table.find(name: name, value: $0) }
        }
    }

    private func insert(_ name: String, _ value: String, into table: inout CompressionTable) {
        Array(name.utf8).withUnsafeBytes { name in
            Array(value.utf8).withUnsafeBytes { table.insert(name: name, value: $0) }
        }
    }

    private func sizes(_ table: inout CompressionTable) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { memory in
            var block = HPACK(memory)
            table.writeSizes(to: &block)
            return Array(memory[..<block.count])
        }
    }

    @Test func `fields of the static table have their numbers`() {
        let table = CompressionTable()
        #expect(find(":method", "POST", in: table) == .field(3))
        #expect(find(":method", "PUT", in: table) == .name(2))
        #expect(find(":scheme", "https", in: table) == .field(7))
        #expect(find(":authority", "", in: table) == .name(1))
        #expect(find("authorization", "x", in: table) == .name(23))
        #expect(find("apns-id", "x", in: table) == .nothing)
    }

    @Test func `the newest field has the lowest number`() {
        var table = CompressionTable()
        insert("a", "1", into: &table)
        insert("b", "2", into: &table)
        #expect(find("b", "2", in: table) == .field(62) && find("a", "1", in: table) == .field(63))
        #expect(find("a", "2", in: table) == .name(63))
        #expect(table.size == 68 && table.count == 2)
    }

    @Test func `the oldest field leaves first`() {
        var table = CompressionTable()
        table.allow(100)
        #expect(sizes(&table) == [0x3f, 69])
        for name in ["a", "b", "c", "d"] { insert(name, "1", into: &table) }
        #expect(table.count == 2 && table.size == 68)
        #expect(find("a", "1", in: table) == .nothing && find("b", "1", in: table) == .nothing)
        #expect(find("c", "1", in: table) == .field(63) && find("d", "1", in: table) == .field(62))
        insert("e", String(repeating: "x", count: 100), into: &table)
        #expect(table.count == 0 && table.size == 0, "a field larger than the table empties it")
    }

    @Test func `the lowest size in between comes before the last`() {
        var table = CompressionTable()
        insert("a", "1", into: &table)
        for size: UInt32 in [10, 4_096] { table.allow(size) }
        #expect(table.count == 1)
        #expect(sizes(&table) == [0x2a, 0x3f, 0xe1, 0x1f])
        #expect(table.count == 0 && table.maxSize == 4_096)
        #expect(sizes(&table) == [])
    }

    @Test func `a peer that allows more than we use hears nothing`() {
        var table = CompressionTable()
        let before = table.revision
        table.allow(1 << 31)
        #expect(sizes(&table) == [] && table.maxSize == 4_096)
        #expect(table.revision != before)
    }
}

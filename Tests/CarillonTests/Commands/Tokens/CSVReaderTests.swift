import CarillonText
import Testing

@testable import Carillon

@Suite struct CSVReaderTests {
    /// What a text says, fed so many bytes at a time: the fields of each record with its line, and what was refused.
    static func read(_ text: [UInt8], by size: Int = .max) -> (records: [String], refusals: [CSVReader.Refusal]) {
        var reader = CSVReader()
        var records: [String] = []
        var refusals: [CSVReader.Refusal] = []
        var rest = text[...]
        while true {
            switch reader.next() {
            case .record:
                let fields = (0..<reader.record.count).map { String(decoding: reader.record[$0], as: UTF8.self) }
                records.append("\(reader.record.line):" + fields.joined(separator: "|"))
            case .refused(let refusal):
                refusals.append(refusal)
            case .hungry:
                if rest.isEmpty, reader.isComplete { return (records, refusals) }
                if rest.isEmpty { reader.finish() } else { reader.feed(rest.prefix(size)) }
                rest = rest.dropFirst(size)
            }
        }
    }

    @Test(arguments: [
        ("", []), ("a", ["1:a"]), ("a\n", ["1:a"]), ("a\r\nb", ["1:a", "2:b"]), ("a,b\nc,", ["1:a|b", "2:c|"]),
        (",\n\n,,", ["1:|", "2:", "3:||"]), ("\"a\",\"b\"\"c\"\r\n\"\"", ["1:a|b\"c", "2:"]),
        ("\"a\nb\r\n,\",c\nd", ["1:a\nb\r\n,|c", "4:d"]), ("a\"b, \"c\"\n", ["1:a\"b| \"c\""]),
        ("a\rb\r\n", ["1:a\rb"]),
        ("\"a\"\r", ["1:a"]), ("a,\"\"", ["1:a|"]), ("a\r", ["1:a"]),
    ])
    func `records are cut as RFC 4180 says, however the bytes come`(text: String, records: [String]) {
        for size in [1, 2, 3, .max] {
            let (found, refusals) = Self.read(Array(text.utf8), by: size)
            #expect(found == records && refusals.isEmpty, "by \(size)")
        }
    }

    @Test func `a malformed record costs only its first line`() {
        let text = "a\n\"b\"c\nd,\"e\nf\"g\nh\n\"i\nj\n"
        for size in [1, 2, 7, .max] {
            let (records, refusals) = Self.read(Array(text.utf8), by: size)
            #expect(records == ["1:a", "4:f\"g", "5:h", "7:j"])
            #expect(refusals.map(\.line) == [2, 3, 6])
            #expect(refusals.map(\.text) == ["\"b\"c", "d,\"e", "\"i"])
        }
    }

    @Test func `a line that is too long is passed over, and not kept`() {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 3 * CSVReader.limit)
        let quoted = Array("\"".utf8) + long
        let text = long + Array("\na\n".utf8) + quoted + Array("\nb\n".utf8) + long
        for size in [4096, 300_000, .max] {
            let (records, refusals) = Self.read(text, by: size)
            #expect(records == ["2:a", "4:b"])
            #expect(refusals.map(\.line) == [1, 3, 5])
            #expect(refusals.allSatisfy { $0.text.count == 1000 })
        }
        let longest = [UInt8](repeating: UInt8(ascii: "x"), count: CSVReader.limit)
        #expect(Self.read(longest + [10]).records.count == 1)
        #expect(Self.read(longest).records.count == 1)
        #expect(Self.read(longest + [120, 10]).refusals.count == 1)
    }
}

import CarillonText
import FoundationEssentials
import Testing

@Suite struct JSONTextTests {
    @Test func `each character comes back from what is quoted`() throws {
        var scalars = String.UnicodeScalarView()
        for value in UInt32(0)...0x2FF { Unicode.Scalar(value).map { scalars.append($0) } }
        let text = String(scalars) + "\u{2028}\u{1F514}/"
        let json: JSONValue = [text: text, "list": [text]]
        let read = try JSONDecoder().decode([String: Either].self, from: Data(json.text.utf8))
        #expect(read == [text: Either(texts: [text]), "list": Either(texts: [text])])
        #expect(!json.text.unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test func `bytes that are not UTF-8 are repaired`() throws {
        var bytes: [UInt8] = []
        bytes.appendQuoted(repairing: ([0xFF, 0x00, 0xC3] as [UInt8]).span)
        #expect(String(decoding: bytes, as: UTF8.self) == #""\#u{FFFD}\u0000\#u{FFFD}""#)
    }

    /// A string, or an array of strings.
    private struct Either: Decodable, Equatable {
        let texts: [String]

        init(texts: [String]) { self.texts = texts }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            texts = try (try? [container.decode(String.self)]) ?? container.decode([String].self)
        }
    }
}

import CarillonText
import Testing

@Suite struct HexadecimalTests {
    @Test func `bytes come back from their digits, in either case`() {
        let bytes = Array(UInt8.min ... .max)
        let digits = bytes.hexadecimal
        #expect(digits.hasPrefix("000102") && digits.hasSuffix("fdfeff") && digits == digits.lowercased())
        for text in [digits, digits.uppercased()] {
            let text = Array(text.utf8)
            #expect(Hexadecimal.bytes(of: text.span) == bytes)
        }
    }

    @Test(arguments: ["a", "0g", "é", "0 ", "/0", ":0", "@0", "G0", "`0"])
    func `anything else is not one`(text: String) {
        let text = Array(text.utf8)
        #expect(Hexadecimal.bytes(of: text.span) == nil)
    }
}

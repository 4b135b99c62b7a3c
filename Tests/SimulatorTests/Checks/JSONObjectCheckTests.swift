import Testing

@testable import ApplePushSimulator

@Suite struct JSONObjectCheckTests {
    private func accepts(_ bytes: [UInt8]) -> Bool {
        var check = JSONObjectCheck()
        return check.faultOffset(in: bytes.span) == nil
    }

    @Test(arguments: [
        "{}", " {\t}\r\n", #"{"aps":{"alert":"Hi","badge":1,"sound":null,"content-available":true}}"#,
        #"{"a":[]}"#, #"{"a":[1,-2.5e+10,0.1E-3,[{}],{"b":[false]}]}"#, #"{"a":"\u00e9\n\"\\\/ é 漢 😀"}"#, #"{"":""}"#,
        #"{"a":-0}"#, #"{"a":"\ud800"}"#,
    ])
    func `JSON objects are accepted`(text: String) {
        #expect(accepts(Array(text.utf8)))
    }

    @Test(arguments: [
        "", " ", "[]", "1", "\"a\"", "null", "{", "}", "{]", "{}}", "{} {}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
        #"{,}"#, #"{a:1}"#, #"{"a":01}"#, #"{"a":+1}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":-}"#,
        #"{"a":tru}"#, #"{"a":truee}"#, #"{"a":[1 2]}"#, #"{"a":[1,]}"#, #"{"a":[}]"#, #"{"a":"x}"#, #"{"a":"\x"}"#,
        #"{"a":"\u12g4"}"#, #"{"a":"\u12"#, "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}", #"{"a":1 "b":2}"#, #"{"a":'b'}"#,
        #"{"a":NaN}"#, "\u{FEFF}{}",
    ])
    func `a text that is not a JSON object is refused`(text: String) {
        #expect(!accepts(Array(text.utf8)))
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF],
        ] as [[UInt8]]
    )
    func `text that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(!accepts(Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)))
    }

    @Test func `deep nesting uses no stack`() {
        let depth = 100_000
        let text = #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        #expect(accepts(Array(text.utf8)))
        #expect(!accepts(Array(text.utf8.dropLast())))
    }

    @Test func `every cut of an object is refused`() {
        let whole = Array(#"{"aps":{"alert":{"title":"é😀","args":[1,2.5e3,null]},"badge":-1}}"#.utf8)
        for count in 0..<whole.count { #expect(!accepts(Array(whole[..<count]))) }
        #expect(accepts(whole))
    }
}

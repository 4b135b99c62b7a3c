import ApplePush
import Testing

@Suite struct PushIDTests {
    private func derived(_ installation: UInt64 = 1, message: Int64 = 7, token: String = "a1b2") -> PushID {
        let token = Array(token.utf8)
        return PushID.derived(installation: (installation, 9), message: message, token: token.span.bytes)
    }

    @Test func `one push has one identity, however often it is computed`() {
        #expect(derived() == derived())
    }

    @Test func `another installation, message or token makes another identity`() {
        let ids: Set = [derived(), derived(2), derived(message: 8), derived(token: "a1b3"), derived(token: "a1b")]
        #expect(ids.count == 5)
    }

    @Test func `a derived identity is a UUID of version 8`() {
        let text = Array(derived().description)
        #expect(text.count == 36)
        #expect(text[14] == "8")
        #expect("89ab".contains(text[19]))
        #expect([8, 13, 18, 23].allSatisfy { text[$0] == "-" })
        #expect(text.allSatisfy { "0123456789abcdef-".contains($0) })
    }

    @Test func `a random identity is a UUID of version 4`() {
        #expect(Array(PushID.random().description)[14] == "4")
        #expect(PushID.random() != PushID.random())
    }

    @Test func `an identity is written in the canonical form and read back`() {
        let id = PushID(high: 0x0123_4567_89ab_cdef, low: 0x0000_0000_0000_00ff)
        #expect(id.description == "01234567-89ab-cdef-0000-0000000000ff")
        #expect(PushID(id.description) == id)
        let all = PushID(high: 0xfedc_ba98_7654_3210, low: 0x0123_4567_89ab_cdef)
        #expect(all.description == "fedcba98-7654-3210-0123-456789abcdef")
        var text = Array("id ".utf8)
        for id in [id, all] { id.write(into: &text) }
        #expect(String(decoding: text, as: UTF8.self) == "id \(id)\(all)")
        #expect(PushID("0123") == nil)
        #expect(PushID("g1234567-89ab-cdef-0000-0000000000ff") == nil)
    }

    @Test func `an identity is read in either case`() {
        #expect(PushID("01234567-89AB-CDEF-0000-0000000000FF") == PushID("01234567-89ab-cdef-0000-0000000000ff"))
        #expect(PushID("ffffffff-ffff-ffff-ffff-ffffffffffff") == PushID(high: .max, low: .max))
    }

    @Test(arguments: [
        "", "0123456789abcdef00000000000000ff", "----0123456789abcdef00000000000000ff",
        "012345678-9ab-cdef-0000-0000000000ff",
        "+1234567-89ab-cdef-0000-0000000000ff", "01234567-89ab-cdef-+000-0000000000ff",
        "-1234567-89ab-cdef-0000-0000000000ff",
        "01234567-89ab-cdef-0000-0000000000f", "01234567-89ab-cdef-0000-0000000000ff0",
        "01234567+89ab-cdef-0000-0000000000ff",
        "01234567-89ab-cdef-0000-0000000000fg", " 1234567-89ab-cdef-0000-0000000000ff",
        "01234567-89ab-cdef-0000-0000000000f\u{e9}",
    ])
    func `only a UUID is an identity`(text: String) {
        #expect(PushID(text) == nil)
    }
}

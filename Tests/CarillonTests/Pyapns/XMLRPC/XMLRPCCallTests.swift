import Testing

@testable import Carillon

@Suite struct XMLRPCCallTests {
    private func read(_ text: String) throws(XMLRPCFault) -> XMLRPCCall { try XMLRPCCall(Array(text.utf8)) }

    private func value(_ text: String) throws(XMLRPCFault) -> XMLRPCValue? {
        try read(call("<param><value>\(text)</value></param>")).parameters.first
    }

    private func call(_ parameters: String) -> String {
        "<?xml version='1.0'?>\n<methodCall><methodName>m</methodName><params>\(parameters)</params></methodCall>\n"
    }

    @Test(arguments: [
        ("plain", XMLRPCValue.string("plain")), ("<string>a &amp; b</string>", .string("a & b")), ("", .string("")),
        ("<string/>", .string("")), ("<string>&#x20AC;&#10;<![CDATA[<&>]]>\r\nend</string>", .string("€\n<&>\nend")),
        (" <int> -7 </int> ", .int(-7)), ("<i4>+2147483647</i4>", .int(2_147_483_647)),
        ("<i8>9223372036854775807</i8>", .int(.max)), ("<boolean>1</boolean>", .bool(true)),
        ("<double>-1.5e3</double>", .double(-1500)), ("<nil/>", .none), ("<ex:nil xmlns:ex='x'/>", .none),
        ("<dateTime.iso8601>20261124T00:10:04</dateTime.iso8601>", .dateTime("20261124T00:10:04")),
        ("<base64>aGVs\nbG8=</base64>", .base64(Array("hello".utf8))),
        (
            "<array><data><value>a</value><!-- b --><value><int>1</int></value></data></array>",
            .array([.string("a"), .int(1)])
        ),
        ("<array><data/></array>", .array([])), ("<struct></struct>", .structure([])),
        (
            "<struct><member><name>b</name><value>1</value></member><member><name>a</name><value>2</value></member>"
                + "<member><name>b</name><value>3</value></member></struct>",
            .structure([.init(name: "b", value: .string("3")), .init(name: "a", value: .string("2"))])
        ),
    ])
    func `each type of value is read`(text: String, expected: XMLRPCValue) throws {
        #expect(try value(text) == expected)
    }

    /// Two such names would be compared in quadratic time: a megabyte for more than a minute.
    @Test(arguments: ["<string>%@</string>", "%@", "<struct><member><name>%@</name><value>1</value></member></struct>"])
    func `a text with many accents in a row is refused, before anything compares it`(text: String) {
        let accents = "a" + String(repeating: "\u{301}\u{323}", count: 250_000)
        #expect(throws: XMLRPCFault.self) { try value(text.replacing("%@", with: accents)) }
    }

    @Test func `a call of more values than memory should hold is refused`() throws {
        func array(_ count: Int) -> String {
            "<array><data>\(String(repeating: "<value/>", count: count))</data></array>"
        }
        #expect(throws: Never.self) { try value(array(299_999)) }
        let refusal = #expect(throws: XMLRPCFault.self) { try value(array(300_000)) }
        #expect(refusal?.text.contains("more than 300,000 values") ?? false)
    }

    @Test func `a fault does not repeat whole what the client sent`() {
        #expect(XMLRPCFault(.refused, String(repeating: "x", count: 8_000_000)).text.utf8.count < 2100)
    }

    @Test func `the method is read, and so is a call without parameters`() throws {
        #expect(
            try read("<methodCall><methodName> feedback </methodName></methodCall>")
                == read(
                    "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><!-- x --><methodCall><methodName>feedback</methodName>"
                        + "<params/></methodCall><!-- y -->"
                )
        )
        #expect(try read("<methodCall><methodName>feedback</methodName></methodCall>").method == "feedback")
    }

    @Test func `Latin 1 is read where it is declared`() throws {
        let bytes =
            Array(
                "<?xml version='1.0' encoding='ISO-8859-1'?><methodCall><methodName>m</methodName><params><param><value>gr"
                    .utf8
            )
            + [0xFC] + Array("n</value></param></params></methodCall>".utf8)
        #expect(try XMLRPCCall(bytes).parameters == [.string("grün")])
    }

    @Test(arguments: [
        ("", "no element found"), ("hello", "syntax error"), ("<methodCall>", "no element found"),
        ("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><methodCall/>", "a document type"),
        ("<?php x ?><methodCall/>", "a document type or an instruction"),
        ("<methodResponse/>", "<methodResponse> in place of"),
        ("<methodCall></method>", "mismatched tag"),
        ("<methodCall><methodName>m</methodName></methodCall><a/>", "junk after document element"),
        ("<?xml version='1.0' encoding='UTF-16'?><methodCall/>", "encoding specified in XML declaration is incorrect"),
        ("<?xml version='1.0' encoding='KOI8-R'?><methodCall/>", "the encoding koi8-r"),
        ("<methodCall><methodName>m\u{0}</methodName></methodCall>", "not well-formed"),
        ("<methodCall a=b></methodCall>", "not well-formed"), ("<methodCall", "unclosed token"),
        ("<methodCall><methodName>m</methodName><params><value/></params></methodCall>", "in place of <param>"),
        ("<\(String(repeating: "a", count: 100))/>", "a name of more than 64 bytes"),
        ("<!-- a -- b --><methodCall/>", "not well-formed"),
    ])
    func `the refusal of a document says why`(text: String, reason: String) {
        let fault = #expect(throws: XMLRPCFault.self) { try read(text) }
        #expect(fault?.code == .refused)
        #expect(fault?.text.contains(reason) == true, "\(fault?.text ?? "")")
    }

    @Test(arguments: [
        "<int>1.5</int>", "<int></int>", "<int>9223372036854775808</int>", "<boolean>2</boolean>",
        "<double>inf</double>",
        "<double>0x1p3</double>", "<double>1e999</double>", "<dateTime.iso8601>2026-11-24</dateTime.iso8601>",
        "<base64>a</base64>",
        "<nil>x</nil>", "<date>1</date>", "x<int>1</int>", "<int>1</int>x", "<int>1</int><int>1</int>", "<array/>",
        "<array><data><int>1</int></data></array>", "<struct><member><name>a</name></member></struct>",
        "<struct><member><value>a</value></member></struct>", "<string><b/></string>", "&lol;", "&#0;", "&#xD800;",
        "& b",
        "]]>", "<string>a</strin", "<![CDATA[a",
    ])
    func `a value that is not of its type is refused`(text: String) {
        #expect(throws: XMLRPCFault.self) { try value(text) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        let bytes = Array(call("<param><value>").utf8) + [0xC3, 0x28]
        #expect(throws: XMLRPCFault.self) { try XMLRPCCall(bytes) }
    }

    @Test func `endlessly nested values are refused quickly`() throws {
        let depth = 200_000
        let text = String(repeating: "<value><array><data>", count: depth)
        let fault = #expect(throws: XMLRPCFault.self) { try read(call("<param>" + text)) }
        #expect(fault?.text.contains("more than 256 levels of nested elements") == true)
        let shallow = 60
        let nested =
            String(repeating: "<value><array><data>", count: shallow)
            + String(repeating: "</data></array></value>", count: shallow)
        #expect(try read(call("<param>\(nested)</param>")).parameters.count == 1)
    }
}

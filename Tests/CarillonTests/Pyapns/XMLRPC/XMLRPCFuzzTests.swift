import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct XMLRPCFuzzTests {
    private static let pieces: [[UInt8]] =
        [
            "<", ">", "&", ";", "</", "/>", "<?xml version='1.0'?>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE a>",
            "'",
            "<value>", "</value>", "<string>", "</string>", "<int>", "</int>", "<array><data>", "</data></array>",
            "<struct>",
            "</struct>", "<member><name>", "</name>", "</member>", "<param>", "</param>", "<params>", "</params>",
            "<methodCall>", "</methodCall>", "<methodName>", "</methodName>", "<nil/>", "&amp;", "&#x41;", "&#1114111;",
            "<base64>", "</base64>", "<double>", "</double>", "1", "-7", "1e9", "aps", "é", "\u{10FFFF}", " ", "\r\n",
            "\u{FEFF}",
            " encoding='latin1'", "<dateTime.iso8601>20260101T00:00:00</dateTime.iso8601>",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0], [0x1F, 0x8B]]

    @Test func `any bytes are read as a call or refused with a fault`() async {
        var refused = 0
        await Fuzzing.seeds(400) { seed in
            var random = SeededGenerator(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...60, using: &random) {
                bytes += Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)]
            }
            if (try? XMLRPCCall(bytes)) == nil { refused += 1 }
        }
        #expect(refused > 0)
    }

    @Test func `every value comes back as it was written, and a changed byte is never a crash`() async {
        await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            let value = Self.value(using: &random, depth: 4)
            let response = String(decoding: XMLRPCResponse.document(.success(value)), as: UTF8.self)
            var call = Array(
                response.replacing("<methodResponse>", with: "<methodCall><methodName>m</methodName>")
                    .replacing("</methodResponse>", with: "</methodCall>").utf8
            )
            let read = try? XMLRPCCall(call).parameters
            #expect(read == [value], "seed \(seed)")
            for _ in 0..<8 {
                call[Int.random(in: 0..<call.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                _ = try? XMLRPCCall(call)
            }
        }
    }

    private static func value(using random: inout SeededGenerator, depth: Int) -> XMLRPCValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 7), using: &random) {
        case 0: .none
        case 1: .bool(.random(using: &random))
        case 2: .int(.random(in: .min ... .max, using: &random))
        case 3: .double(.random(in: -1e9...1e9, using: &random))
        case 4: .string(text(using: &random))
        case 5: .dateTime("20261124T00:10:04")
        case 6: .base64((0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
        case 7: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(using: &random, depth: depth - 1) })
        default:
            .structure(
                (0..<Int.random(in: 0...4, using: &random)).map { place in
                    .init(name: "\(place)" + text(using: &random), value: value(using: &random, depth: depth - 1))
                }
            )
        }
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let letters = ["a", "<", ">", "&", "\"", "'", " ", "\n", "\t", "\r", "ü", "€", "🔔", "]]>", "--", "&amp;", "1"]
        return (0..<Int.random(in: 0...12, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }
            .joined()
    }
}

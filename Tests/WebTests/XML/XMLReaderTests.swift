import Testing

@testable import CarillonWeb

@Suite struct XMLReaderTests {
    private func events(_ document: [UInt8]) throws -> [XMLReader.Event] {
        var reader = try XMLReader(document)
        var events: [XMLReader.Event] = []
        while case let event = try reader.next(), event != .over {
            if case .text(let text) = event, case .text(let before)? = events.last {
                events[events.count - 1] = .text(before + text)
            } else {
                events.append(event)
            }
        }
        return events
    }

    @Test(arguments: [
        ("UTF-8", Array("grün".utf8)), ("utf8", Array("grün".utf8)), ("ISO-8859-1", [103, 114, 0xFC, 110]),
        ("latin1", [103, 114, 0xFC, 110]), ("Latin-1", [103, 114, 0xFC, 110]), ("ascii", Array("gr&#252;n".utf8)),
    ])
    func `a text is read in each encoding that clients declare`(encoding: String, text: [UInt8]) throws {
        let document = Array("<?xml version='1.0' encoding='\(encoding)'?><a>".utf8) + text + Array("</a>".utf8)
        #expect(try events(document) == [.start("a"), .text("grün"), .end])
    }

    @Test func `UTF-16 with a byte order mark is read`() throws {
        let document = "\u{FEFF}<a>grün</a>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        #expect(try events(document) == [.start("a"), .text("grün"), .end])
    }

    @Test func `halts and continues without losing an element, and says where each begins`() throws {
        let count = 100_000
        var reader = try XMLReader(Array(("<a>" + String(repeating: "<b/>", count: count) + "</a>").utf8))
        #expect(try reader.next() == .start("a"))
        for number in 0..<count {
            guard try reader.next() == .start("b"), reader.place == 3 + 4 * number, try reader.next() == .end else {
                Issue.record("at the \(number)th element")
                return
            }
        }
        #expect(try reader.next() == .end)
        #expect(try reader.next() == .over)
    }

    @Test func `a reader gives what stands before an error, and then the error each time`() throws {
        var reader = try XMLReader(Array("<a>b</c>".utf8))
        #expect(try reader.next() == .start("a"))
        #expect(try reader.next() == .text("b"))
        for _ in 0..<2 {
            do {
                _ = try reader.next()
                Issue.record("an element ended under another name")
            } catch {
                #expect(error == XMLError(reason: "mismatched tag", place: 6))
            }
        }
    }

    @Test func `what expat would have to keep whole is refused beyond a limit`() throws {
        func refusal(_ document: String) -> String? {
            do {
                _ = try events(Array(document.utf8))
                return nil
            } catch {
                return (error as? XMLError)?.reason
            }
        }
        let long = String(repeating: "x", count: 60_000), longer = String(repeating: "x", count: 400_000)
        func attributes(_ count: Int) -> String { (0..<count).map { " a\($0)='x'" }.joined() }
        #expect(refusal("<!--\(long)--><a b='\(long)'><!--\(long)-->\(longer)<b/></a><!--\(long)-->") == nil)
        #expect(refusal("<a\(attributes(1000))/>") == nil)
        let tooLong = "a tag or a comment of more than 65536 bytes"
        let documents = [
            "<a b='\(longer)'/>", "<a><!--\(longer)--></a>", "<!--\(longer)--><a/>", "<a/><!--\(longer)-->",
        ]
        for document in documents {
            #expect(refusal(document) == tooLong, "\(document.prefix(10))")
        }
        #expect(refusal("<a\(attributes(1001))/>") == "more than 1000 attributes")
        #expect(refusal("<a>" + (0..<1001).map { "<b c\($0)=''/>" }.joined() + "</a>") == "more than 1000 attributes")
    }

    @Test func `a text is read whole wherever the pieces end that expat gets`() throws {
        for shift in 0..<4 {
            let text = String(repeating: "y", count: shift) + String(repeating: "🔔", count: 20_000)
            #expect(try events(Array("<a>\(text)</a>".utf8)) == [.start("a"), .text(text), .end])
        }
    }

    @Test func `an entity is never expanded, nor is its document type read further`() throws {
        var reader = try XMLReader(Array("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>".utf8))
        do {
            _ = try reader.next()
            Issue.record("a document type was read")
        } catch {
            #expect(error.reason.hasPrefix("a document type"))
        }
    }
}

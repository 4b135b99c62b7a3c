import CarillonIO
import TestSupport
import Testing

@testable import CarillonWeb

@Suite struct HTMLTests {
    @Test func `elements, attributes and texts are written as they are nested`() {
        let html = HTML(.table, .class("wide")) {
            HTML(.tr) { for name in ["a", "b"] { HTML(.th, Attribute(.scope, "col")) { name } } }
            if true { HTML(.br) }
        }
        #expect(
            html.markup
                == "<table class=\"wide\"><tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr><br></table>"
        )
        #expect(
            HTML(.input, Attribute(.name, "q"), Attribute(.required, isOn: true), Attribute(.value, nil)).markup
                == "<input name=\"q\" required>"
        )
    }

    @Test func `there are at least fifty hostile texts`() { #expect(HostileText.all.count >= 50) }

    @Test(arguments: HostileText.all)
    func `a hostile text stays text, and a value stays a value`(text: String) throws {
        let html = HTML(.div, Attribute(.title, text), .class(text)) {
            text
            HTML(.a, .href(Link("apps", text, query: ["q": text]))) { text }
        }
        let reading = try HTMLReading(html.markup)
        #expect(reading.elements.map(\.name) == ["div", "a"])
        #expect(reading.elements[0].attributes.keys.sorted() == ["class", "title"])
        #expect(reading.elements[1].attributes.keys.sorted() == ["href"])
        #expect(reading.elements[1].attributes["href"]?.hasPrefix("/apps/") == true)
        let shown = HTML(text).markup
        #expect(
            !shown.unicodeScalars.contains {
                $0.value < 9 || (0xB..<0x20 ~= $0.value) || $0.value == 0x202E || "<>\"'".unicodeScalars.contains($0)
            }
        )
        // Twice in the content: as it came, except for what nobody could see.
        let kept = text.unicodeScalars.filter {
            ($0.value >= 0x20 || $0.value == 9 || $0.value == 10)
                && !(0x2028...0x202E ~= $0.value) && !(0x2066...0x2069 ~= $0.value)
        }
        #expect(reading.text.unicodeScalars.filter { $0 != "\u{FFFD}" }.elementsEqual(Array(kept) + Array(kept)))
    }

    @Test func `names of elements and attributes cannot run a script`() {
        #expect(
            !CarillonWeb.Tag.allCases.contains {
                ["script", "style", "iframe", "object", "base", "embed"].contains($0.rawValue)
            }
        )
        #expect(!Attribute.Name.allCases.contains { $0.rawValue.hasPrefix("on") })
        #expect(
            !Attribute.Name.allCases.contains {
                ["style", "href", "src", "action", "formaction", "srcdoc"].contains($0.rawValue)
            }
        )
    }
}

@Suite struct HTMLFuzzTests {
    private static let pieces = HostileText.all + ["a", " ", "ü", "=", "\"", "'", "<", ">", "&", "/", "-", "]]>"]
    private static let tags: [CarillonWeb.Tag] = [.div, .p, .td, .a, .svg, .title, .code]
    private static let names: [Attribute.Name] = [.title, .class, .id, .value, .content, .role, .d, .ariaLabel]

    @Test func `a tree that is written is read back as the same`() async throws {
        try await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            var expected: [HTMLReading.Event] = []
            let html = Self.tree(&random, depth: 4, &expected)
            let events = try HTMLReading(html.markup).events
            #expect(events == expected, "seed \(seed)")
        }
    }

    private static func tree(_ random: inout SeededGenerator, depth: Int, _ events: inout [HTMLReading.Event]) -> HTML {
        let tag = tags.randomElement(using: &random) ?? .div
        let name = names.randomElement(using: &random) ?? .title
        let value = text(&random)
        events.append(.start(tag.rawValue, [name.rawValue: seen(value)]))
        var children: [HTML] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            if depth > 0, Bool.random(using: &random) {
                children.append(tree(&random, depth: depth - 1, &events))
            } else {
                let text = text(&random)
                children.append(HTML(text))
                guard !text.isEmpty else { continue }
                // Two texts in a row are read as one.
                if case .text(let before)? = events.last {
                    events[events.count - 1] = .text(before + seen(text))
                } else {
                    events.append(.text(seen(text)))
                }
            }
        }
        events.append(.end(tag.rawValue))
        return HTML(tag, Attribute(name, value)) { children }
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    /// As a reader sees it: each character that is not shown is replaced.
    private static func seen(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 9, 10: scalar
                    case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}

/// A strict reader of HTML that knows nothing of how it was written: it takes only elements that are closed, attributes in
/// double quotes, and the escapes that are needed.
package struct HTMLReading {
    package enum Event: Equatable {
        case start(String, [String: String])
        case end(String)
        case text(String)
    }

    package struct Failure: Error {
        package let sentence: String
    }

    private static let void: Set<String> = ["br", "hr", "img", "input", "link", "meta"]
    private static let entities = ["&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'"]

    package private(set) var events: [Event] = []
    private var rest: Substring

    package init(_ markup: String) throws(Failure) {
        rest = markup[...]
        if rest.hasPrefix("<!doctype html>\n") { rest = rest.dropFirst(16) }
        var open: [String] = []
        while let first = rest.first {
            guard first == "<" else {
                let text = rest.prefix { $0 != "<" }
                rest = rest.dropFirst(text.count)
                events.append(.text(try Self.unescape(text)))
                continue
            }
            rest = rest.dropFirst()
            if rest.first == "/" {
                rest = rest.dropFirst()
                let name = try takeName()
                try take(">")
                guard open.popLast() == name else { throw Failure(sentence: "</\(name)> closes another element") }
                events.append(.end(name))
            } else {
                let name = try takeName()
                events.append(.start(name, try takeAttributes(of: name)))
                if !Self.void.contains(name) { open.append(name) }
            }
        }
        guard open.isEmpty else { throw Failure(sentence: "not closed: \(open)") }
    }

    /// All texts, one after the other.
    package var text: String {
        events.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
    }

    /// Where its links lead.
    package var links: Set<String> { Set(elements.compactMap { $0.name == "a" ? $0.attributes["href"] : nil }) }

    package var elements: [(name: String, attributes: [String: String])] {
        events.compactMap { if case .start(let name, let attributes) = $0 { (name, attributes) } else { nil } }
    }

    private mutating func takeAttributes(of element: String) throws(Failure) -> [String: String] {
        var attributes: [String: String] = [:]
        while true {
            if rest.first == ">" {
                rest = rest.dropFirst()
                return attributes
            }
            try take(" ")
            let name = try takeName()
            var value = ""
            if rest.first == "=" {
                rest = rest.dropFirst()
                try take("\"")
                let raw = rest.prefix { $0 != "\"" }
                guard !raw.contains("<") else { throw Failure(sentence: "a < in an attribute of <\(element)>") }
                rest = rest.dropFirst(raw.count)
                try take("\"")
                value = try Self.unescape(raw)
            }
            guard attributes.updateValue(value, forKey: name) == nil else {
                throw Failure(sentence: "\(name) twice in <\(element)>")
            }
        }
    }

    private mutating func takeName() throws(Failure) -> String {
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard !name.isEmpty else { throw Failure(sentence: "no name at '\(rest.prefix(20))'") }
        rest = rest.dropFirst(name.count)
        return String(name)
    }

    private mutating func take(_ character: Character) throws(Failure) {
        guard rest.first == character else { throw Failure(sentence: "no '\(character)' at '\(rest.prefix(20))'") }
        rest = rest.dropFirst()
    }

    private static func unescape(_ raw: Substring) throws(Failure) -> String {
        var text = ""
        var rest = raw
        while let first = rest.first {
            if first == ">" || first == "'" || first == "\"" { throw Failure(sentence: "a bare \(first) in '\(raw)'") }
            if first == "&" {
                guard let entity = entities.first(where: { rest.hasPrefix($0.key) }) else {
                    throw Failure(sentence: "a bare & in '\(raw)'")
                }
                text += entity.value
                rest = rest.dropFirst(entity.key.count)
            } else {
                text.append(first)
                rest = rest.dropFirst()
            }
        }
        return text
    }
}

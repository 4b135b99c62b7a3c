/// A piece of HTML.
///
/// Text enters only through `init(_:)`, which escapes it. Elements, attributes and addresses enter only through types with fixed
/// names. So no text can become markup, whoever wrote it.
package struct HTML: Sendable, Equatable {
    package let markup: String

    private init(markup: String) { self.markup = markup }

    package static let nothing = HTML(markup: "")

    package init(_ text: String) { markup = Self.escape(text) }

    package init(_ tag: Tag, _ attributes: Attribute..., @HTMLBuilder content: () -> HTML) {
        precondition(!tag.isVoid, "<\(tag.rawValue)> has no content")
        markup = "<\(tag.rawValue)\(Self.text(of: attributes))>\(content().markup)</\(tag.rawValue)>"
    }

    /// An element without content.
    package init(_ tag: Tag, _ attributes: Attribute...) {
        let start = "<\(tag.rawValue)\(Self.text(of: attributes))>"
        markup = tag.isVoid ? start : start + "</\(tag.rawValue)>"
    }

    init(joining parts: [HTML]) { markup = parts.map(\.markup).joined() }

    /// A script of this server, which runs once the document has been parsed. Pages have no inline scripts.
    package static func script(_ source: Link) -> HTML {
        HTML(markup: "<script src=\"\(escape(source.text))\" defer></script>")
    }

    /// The bytes of a page, from the content of `<html>`.
    package static func document(language: String, @HTMLBuilder _ content: () -> HTML) -> HTML {
        HTML(markup: "<!doctype html>\n<html lang=\"\(escape(language))\">\(content().markup)</html>\n")
    }

    private static func text(of attributes: [Attribute]) -> String {
        attributes.reduce(into: "") { text, attribute in
            guard let value = attribute.value else { return }
            text += " \(attribute.name)"
            if let value = value.text { text += "=\"\(escape(value))\"" }
        }
    }

    /// Escapes the characters that are special in text or attributes. Replaces invisible characters and those that change the
    /// writing direction.
    static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { replacement(for: $0) != nil }) else { return text }
        return text.unicodeScalars.reduce(into: "") { escaped, scalar in
            if let replacement = replacement(for: scalar) {
                escaped += replacement
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
    }

    private static func replacement(for scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "&": "&amp;"
        case "<": "&lt;"
        case ">": "&gt;"
        case "\"": "&quot;"
        case "'": "&#39;"
        case "\t", "\n": nil
        default:
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: "\u{FFFD}"
            default: nil
            }
        }
    }
}

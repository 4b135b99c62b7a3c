import CarillonText

/// An attribute of an element. Addresses can be made only from a `Link`, and no attribute can contain a script or a style.
package struct Attribute: Sendable {
    /// The attributes whose value is only a text.
    package enum Name: String, Sendable, CaseIterable {
        case autocomplete, autofocus, charset, checked, `class`, content, datetime, `for`, height, id
        case maxlength, method, min, max, name, placeholder, rel, required, role, rows, scope, selected
        case spellcheck, tabindex, title, type, value, width
        case ariaCurrent = "aria-current"
        case ariaLabel = "aria-label"
        case dataEvery = "data-every"
        case d, x, y, viewBox, preserveAspectRatio
    }

    /// If the text is nil, the attribute is only its name.
    struct Value { let text: String? }

    let name: String
    /// If nil, the attribute is left out.
    let value: Value?

    private init(_ name: String, _ value: Value?) {
        self.name = name
        self.value = value
    }

    package init(_ name: Name, _ value: String?) { self.init(name.rawValue, value.map { Value(text: $0) }) }

    package init(_ name: Name, _ value: Int) { self.init(name.rawValue, Value(text: String(value))) }

    /// An attribute that is present or not.
    package init(_ name: Name, isOn: Bool) { self.init(name.rawValue, isOn ? Value(text: nil) : nil) }

    package static func `class`(_ names: String?) -> Attribute { Attribute(.class, names) }
    package static func href(_ link: Link) -> Attribute { Attribute("href", Value(text: link.text)) }
    package static func action(_ link: Link) -> Attribute { Attribute("action", Value(text: link.text)) }

    /// The id of an element of the same page.
    package static func anchor(_ id: String) -> Attribute {
        Attribute("href", Value(text: "#" + id.percentEncoded()))
    }
}

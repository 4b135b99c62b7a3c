import CarillonWeb

/// A form that changes something. It works without JavaScript, and contains the form token of its viewer.
enum ActionForm {
    static func html(
        _ link: Link,
        _ viewer: Viewer,
        class name: String = "action",
        hidden: KeyValuePairs<String, String?> = [:],
        @HTMLBuilder content: () -> HTML
    ) -> HTML {
        HTML(.form, .class(name), .action(link), Attribute(.method, "post")) {
            Self.hidden(Viewer.formField, viewer.formToken)
            for (name, value) in hidden { if let value { Self.hidden(name, value) } }
            content()
        }
    }

    static func button(_ text: String, isDangerous: Bool = false, name: String? = nil) -> HTML {
        HTML(
            .button,
            .class(isDangerous ? "danger" : nil),
            Attribute(.type, "submit"),
            Attribute(.name, name),
            Attribute(.value, name.map { _ in "yes" })
        ) { text }
    }

    private static func hidden(_ name: String, _ value: String) -> HTML {
        HTML(.input, Attribute(.type, "hidden"), Attribute(.name, name), Attribute(.value, value))
    }

    /// An input with its label.
    static func field(
        _ label: String,
        _ name: String,
        value: String? = nil,
        type: String = "text",
        maxLength: Int = 255,
        least: String = "0",
        isWide: Bool = false,
        note: String? = nil
    ) -> HTML {
        HTML(.label, .class(isWide ? "wide" : nil)) {
            label
            HTML(
                .input,
                Attribute(.name, name),
                Attribute(.type, type),
                Attribute(.value, value),
                Attribute(.maxlength, type == "text" ? String(maxLength) : nil),
                Attribute(.min, type == "number" ? least : nil),
                Attribute(.autocomplete, "off"),
                Attribute(.placeholder, note)
            )
        }
    }

    static func check(_ label: String, _ name: String, isOn: Bool) -> HTML {
        HTML(.label, .class("check")) {
            HTML(
                .input,
                Attribute(.type, "checkbox"),
                Attribute(.name, name),
                Attribute(.value, "yes"),
                Attribute(.checked, isOn: isOn)
            )
            " " + label
        }
    }

    static func choice(_ label: String, _ name: String, _ values: [(String, String)], chosen: String?) -> HTML {
        HTML(.label) {
            label
            HTML(.select, Attribute(.name, name)) {
                for (value, text) in values {
                    HTML(.option, Attribute(.value, value), Attribute(.selected, isOn: value == chosen)) { text }
                }
            }
        }
    }
}

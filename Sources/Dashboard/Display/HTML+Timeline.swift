import CarillonWeb

extension HTML {
    /// Events in the order of time, each with a colour.
    static func timeline<Event>(
        _ events: [Event],
        _ parts: (Event) -> (mark: StateMark, when: HTML, what: HTML)
    ) -> HTML {
        HTML(.ol, .class("timeline")) {
            for event in events {
                let (mark, when, what) = parts(event)
                HTML(.li, .class(mark.rawValue)) {
                    HTML(.span, .class("when")) { when }
                    HTML(.span, .class("what")) { what }
                }
            }
        }
    }
}

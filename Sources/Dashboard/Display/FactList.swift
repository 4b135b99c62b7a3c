import CarillonWeb

/// A list of names and values, without those that have no value.
struct FactList {
    private let facts: [(name: String, value: HTML)]

    init(_ facts: (String, HTML?)...) {
        self.facts = facts.compactMap { name, value in value.map { (name, $0) } }
    }

    var html: HTML {
        HTML(.dl, .class("facts")) {
            for fact in facts {
                HTML(.div) {
                    HTML(.dt) { fact.name }
                    HTML(.dd) { fact.value }
                }
            }
        }
    }
}

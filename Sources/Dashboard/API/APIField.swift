import CarillonText

/// A parameter of the path or the query, or a member of the body: an argument of the function that the route calls.
struct APIField: Sendable {
    let name: String
    let type: APIType
    let isRequired: Bool

    init(_ name: String, _ type: APIType, required: Bool = false) {
        self.name = name
        self.type = type
        isRequired = required
    }
}

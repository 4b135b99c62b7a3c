import CarillonWeb

/// What a change did, shown once on the page that follows. It is named in the address, so it can only be one of these.
struct Notice: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case paused, resumed, limited, unchanged, cancelled, requeued, dismissed, sent
    }

    static let parameter = "done"
    private static let countParameter = "count"

    let kind: Kind
    var count: Int64?

    init(_ kind: Kind, count: Int64? = nil) {
        self.kind = kind
        self.count = count
    }

    init?(_ request: Request) {
        guard let kind = request.parameter(Self.parameter).flatMap(Kind.init) else { return nil }
        self.init(kind, count: request.parameter(Self.countParameter).flatMap(Int64.init))
    }

    func added(to link: Link) -> Link {
        link.with(Self.parameter, kind.rawValue).with(Self.countParameter, count.map(String.init))
    }

    var sentence: String {
        switch kind {
        case .paused: "The app is paused: its messages wait."
        case .resumed: "The app sends again."
        case .limited: "The limits are set. Workers follow within a second."
        case .unchanged: "Nothing had to be changed."
        case .cancelled:
            (count ?? 0) == 0
                ? "Nothing was left to cancel."
                : "Cancelled \(Counted.text(count ?? 0, "job")). What is in flight may still arrive, and is not retried."
        case .requeued: "\(Counted.text(count ?? 0, "push was", "pushes were")) enqueued again, as new messages."
        case .dismissed: "\(Counted.text(count ?? 0, "failure was", "failures were")) dismissed."
        case .sent: "The test push is enqueued."
        }
    }

    var html: HTML { HTML(.p, .class("notice good done"), Attribute(.role, "status")) { sentence } }
}

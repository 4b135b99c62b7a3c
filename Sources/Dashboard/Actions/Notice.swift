import CarillonTLS
import CarillonText
import CarillonWeb

/// The result of a change, shown once on the page that follows. It is part of that page's address, with a seal that only this
/// server can make for this viewer, so a forged link shows nothing.
struct Notice: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case paused, resumed, limited, unchanged, cancelled, requeued, dismissed, sent, redelivered
        case sentBefore = "sent_before"
        case webhookPaused = "webhook_paused"
        case webhookResumed = "webhook_resumed"
    }

    typealias Sealing = (_ text: String) -> String

    private static let parameter = "done"
    private static let countParameter = "count"
    private static let sealParameter = "seal"

    let kind: Kind
    var count: Int64?

    init(_ kind: Kind, count: Int64? = nil) {
        self.kind = kind
        self.count = count
    }

    /// Nil if there is no notice or it was not made for this viewer.
    init?(_ request: Request, sealing: Sealing) {
        guard let kind = request.parameter(Self.parameter).flatMap(Kind.init) else { return nil }
        self.init(kind, count: request.parameter(Self.countParameter).flatMap(Int64.init))
        let seal = Array((request.parameter(Self.sealParameter) ?? "").utf8)
        guard Digest.areSame(seal, Array(sealing(sealed).utf8)) else { return nil }
    }

    private var sealed: String { kind.rawValue + (count.map { " \($0)" } ?? "") }

    func added(to link: Link, sealing: Sealing) -> Link {
        link.with(Self.parameter, kind.rawValue).with(Self.countParameter, count.map(String.init))
            .with(Self.sealParameter, sealing(sealed))
    }

    var sentence: String {
        switch kind {
        case .paused: "The app is paused: its messages wait."
        case .resumed: "The app is resumed."
        case .limited: "The limits are set. Workers apply them within a second."
        case .unchanged: "Nothing had to be changed."
        case .cancelled:
            (count ?? 0) == 0
                ? "Nothing was left to cancel."
                : "Cancelled \(Counted.text(count ?? 0, "job")). What is in flight may still arrive, and is not retried."
        case .requeued: "\(Counted.text(count ?? 0, "push was", "pushes were")) enqueued again, as new messages."
        case .dismissed: "\(Counted.text(count ?? 0, "failure was", "failures were")) dismissed."
        case .webhookPaused: "The webhook is paused: its events wait."
        case .webhookResumed: "The webhook is resumed. If a batch waits, workers attempt it at once."
        case .redelivered: "\(Counted.text(count ?? 0, "event")) will be posted again."
        case .sent: "The test push is enqueued."
        case .sentBefore: "This test push was already enqueued and is not sent again."
        }
    }

    var html: HTML { HTML(.p, .class("notice good done"), Attribute(.role, "status")) { sentence } }
}

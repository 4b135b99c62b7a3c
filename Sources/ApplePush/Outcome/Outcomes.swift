/// The outcomes of the pushes of a batch, in their order.
public struct Outcomes: Sendable, RandomAccessCollection {
    private var outcomes: [Outcome]

    /// The names of reasons that are not in the table.
    public private(set) var texts: [String] = []

    /// Why no connection could be opened, if pushes were not sent for that reason.
    public var connectFailure: PushError?

    /// Why pushes were not sent for another reason: no room in time, a cancelled task, a permit that ended.
    public var withheld: PushError?

    /// Why pushes have an unknown outcome, if any has: the reason for the first of them.
    public var unanswered: PushError?

    /// The unique IDs that the sandbox sent with its answers, by position.
    private var uniqueIDs: [Int: PushID] = [:]

    /// Why some pushes were not sent.
    public var unsentReason: PushError? { connectFailure ?? withheld }

    /// Whether no push was sent, disregarding malformed ones, which are never sent.
    var areUnsent: Bool {
        outcomes.contains { $0.verdict == .safe }
            && outcomes.allSatisfy { $0.verdict == .safe || $0.verdict == .rejected && $0.status == 0 }
    }

    /// Whether every push at these positions was accepted. Nearly all are, so this looks at nothing else.
    package func areAccepted(at positions: Range<Int>) -> Bool {
        outcomes[positions].allSatisfy { $0.verdict == .accepted }
    }

    /// `count` equal outcomes.
    public init(repeating outcome: Outcome, count: Int) {
        outcomes = Array(repeating: outcome, count: count)
    }

    /// The position of the first outcome.
    public var startIndex: Int { 0 }

    /// The position after the last outcome.
    public var endIndex: Int { outcomes.count }

    /// The outcome of the push at this position.
    public subscript(position: Int) -> Outcome {
        get { outcomes[position] }
        set { outcomes[position] = newValue }
    }

    /// The header `apns-unique-id` of the answer to the push at this position: its identity in Apple's push console. The sandbox
    /// sends it and, for accepted broadcasts to channels, production.
    public func uniqueID(at position: Int) -> PushID? { uniqueIDs.isEmpty ? nil : uniqueIDs[position] }

    /// Whether the gateway has sent a unique ID with any answer.
    package var hasUniqueIDs: Bool { !uniqueIDs.isEmpty }

    /// Records the unique identity of the push at this position.
    public mutating func setUniqueID(_ id: PushID, at position: Int) { uniqueIDs[position] = id }

    /// The name of a reason: from the table, or as the gateway wrote it.
    public func text(of reason: Reason) -> String {
        reason.name ?? texts[Int(reason.index - Reason.firstUnknown)]
    }

    /// The reason with this name. A name that is not in the table is added to `texts`. After 63 of them, all others count as one.
    public mutating func reason(named name: String) -> Reason {
        if let known = Reason(name: name) { return known }
        if let index = texts.firstIndex(of: name) { return Reason(index: Reason.firstUnknown + UInt16(index)) }
        let others = "OtherReasons"
        if texts.count >= 63, name != others { return reason(named: others) }
        texts.append(name)
        return Reason(index: Reason.firstUnknown + UInt16(texts.count - 1))
    }
}

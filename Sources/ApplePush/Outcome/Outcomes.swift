/// What became of the pushes of a batch, in the order they were added.
public struct Outcomes: Sendable, RandomAccessCollection {
    private var outcomes: [Outcome]

    /// The words of reasons that are in no table, verbatim.
    public private(set) var texts: [String] = []

    /// Why no connection could be made, if that is what kept pushes from being sent.
    public var connectFailure: PushError?

    /// Why pushes were not sent though connections could be made, if some were not: no room in time, a caller who has
    /// gone, a permit that has ended.
    public var withheld: PushError?

    /// Why pushes were not sent, if some were not.
    public var unsentReason: PushError? { connectFailure ?? withheld }

    /// Whether nothing at all was sent, though something could have been: tokens that are none never are.
    var areUnsent: Bool {
        outcomes.contains { $0.verdict == .safe }
            && outcomes.allSatisfy { $0.verdict == .safe || $0.verdict == .rejected && $0.status == 0 }
    }

    /// So many outcomes, each of them the same to begin with.
    public init(repeating outcome: Outcome, count: Int) {
        outcomes = Array(repeating: outcome, count: count)
    }

    /// The place of the first outcome.
    public var startIndex: Int { 0 }

    /// The place after the last outcome.
    public var endIndex: Int { outcomes.count }

    /// What became of the push at that place.
    public subscript(position: Int) -> Outcome {
        get { outcomes[position] }
        set { outcomes[position] = newValue }
    }

    /// The reason's name: from the table, or what the gateway wrote.
    public func text(of reason: Reason) -> String {
        reason.name ?? texts[Int(reason.index - Reason.firstUnknown)]
    }

    /// The reason of that name. One that is in no table is kept verbatim; a gateway that makes up a new one for each
    /// push soon gets them all counted as one.
    public mutating func reason(named name: String) -> Reason {
        if let known = Reason(name: name) { return known }
        if let place = texts.firstIndex(of: name) { return Reason(index: Reason.firstUnknown + UInt16(place)) }
        let others = "OtherReasons"
        if texts.count >= 63, name != others { return reason(named: others) }
        texts.append(name)
        return Reason(index: Reason.firstUnknown + UInt16(texts.count - 1))
    }
}

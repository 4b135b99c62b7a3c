/// How urgent the messages of a lane are. What is urgent goes first, what is bulk always gets its share.
package enum Urgency: Int, CaseIterable, Sendable {
    case urgent
    case normal
    case bulk

    /// How many claims of such lanes follow each other before the next urgency has its turn.
    var turns: Int {
        switch self {
        case .urgent: 16
        case .normal: 4
        case .bulk: 1
        }
    }
}

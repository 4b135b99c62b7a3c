/// One queue within the queue: the messages of one app and one urgency, in the order of their ids.
package struct Lane: Hashable, Sendable {
    package let app: Int32
    /// 0 urgent, 1 normal, 2 bulk; any other number is as good as the nearest of them.
    package let number: Int16

    package init(app: Int32, number: Int16) {
        self.app = app
        self.number = number
    }

    /// How urgent it is.
    package var urgency: Urgency {
        switch number {
        case ...0: .urgent
        case 1: .normal
        default: .bulk
        }
    }
}

extension Lane: Comparable {
    /// The order of the index that lanes are found in.
    package static func < (left: Self, right: Self) -> Bool {
        (left.app, left.number) < (right.app, right.number)
    }
}

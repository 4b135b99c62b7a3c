/// The messages of one app with one lane number, in the order of their ids.
package struct Lane: Hashable, Sendable {
    package enum Urgency: Int, CaseIterable, Sendable {
        case urgent
        case normal
        case bulk

        /// How many claims are made before the next urgency is served. Bulk always gets some.
        var claims: Int {
            switch self {
            case .urgent: 16
            case .normal: 4
            case .bulk: 1
            }
        }

        var next: Urgency {
            switch self {
            case .urgent: .normal
            case .normal: .bulk
            case .bulk: .urgent
            }
        }
    }

    /// A lane is deep if its last claim may have left rows behind.
    enum Depth: Int, CaseIterable, Sendable {
        case shallow
        case deep
    }

    package let app: Int32
    /// 0 urgent, 1 normal, 2 bulk. 10 to 12, 20 to 22 and 30 to 32 count as these, and other numbers as the nearest of these.
    package let number: Int16

    package init(app: Int32, number: Int16) {
        self.app = app
        self.number = number
    }

    /// Its number has a meaning of its own.
    var isUsual: Bool { (0...2).contains(number) }

    /// Of an app with both environments: its jobs are sent in the one that is not the app's.
    var isAway: Bool { (10...12).contains(number) || (20...22).contains(number) }

    /// Of an app with both environments: its tokens failed as BadDeviceToken in the other environment than the one it is sent in.
    var isSecondTry: Bool { (20...22).contains(number) || (30...32).contains(number) }

    package var urgency: Urgency {
        switch isAway || isSecondTry ? number % 10 : number {
        case ...0: .urgent
        case 1: .normal
        default: .bulk
        }
    }
}

extension Lane: Comparable {
    /// The order of the index of `messages`.
    package static func < (left: Self, right: Self) -> Bool {
        (left.app, left.number) < (right.app, right.number)
    }
}

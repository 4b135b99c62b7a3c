import CarillonSchema

extension ChannelRecord {
    var mark: StateMark {
        switch state {
        case .ready: .good
        case .failed, .missing: .bad
        case .requested, .removing, .unknown: .attention
        }
    }
}

import ApplePush
import CarillonIO

/// A gateway with random answers, which counts all pushes that it gets.
struct ModelGateway {
    /// What is known of one push.
    struct Record {
        let push: ModelPush
        var sends = 0
        var deliveries = 0
        /// It was refused for good.
        var refusals = 0
        /// When it was refused last, in microseconds of the monotonic clock.
        var refusedAt: Int64?
        /// Sends that may be repeated: refused for now, or without an answer.
        var excuses = 0
    }

    /// How many out of a hundred pushes.
    struct Habits {
        var dead = 0
        /// Their tokens are of another environment.
        var wrong = 0
        var busy = 0
        /// The stream is refused before anything was done.
        var refused = 0
        /// The answer is lost.
        var silent = 0
    }

    var habits = Habits()
    /// Nobody can connect.
    var isDown = false
    private(set) var records: [PushID: Record] = [:]
    /// Identities under which two different pushes came.
    private(set) var confusions: [PushID] = []

    /// A push has arrived.
    mutating func receive(
        _ push: ModelPush,
        id: PushID,
        at time: Int64,
        using generator: inout SeededGenerator
    ) -> Outcome {
        var record = records[id] ?? Record(push: push)
        defer { records[id] = record }
        if record.push != push { confusions.append(id) }
        if generator.chance(habits.refused, outOf: 100) { return Outcome(.safe) }
        record.sends += 1
        // Dead tokens stay dead.
        if Int(id.low % 100) < habits.dead {
            record.refusals += 1
            record.refusedAt = time
            return Outcome(.rejected, status: 410, reason: Reason(name: "Unregistered") ?? .none)
        }
        if Int(id.low % 100) < habits.dead + habits.wrong {
            record.refusals += 1
            return Outcome(.rejected, status: 400, reason: .badDeviceToken)
        }
        let isSilent = generator.chance(habits.silent, outOf: 100)
        if isSilent { record.excuses += 1 }
        if generator.chance(habits.busy, outOf: 100) {
            if !isSilent { record.excuses += 1 }
            let busy = Outcome(.rejected, status: 503, reason: Reason(name: "ServiceUnavailable") ?? .none)
            return isSilent ? Outcome(.unknown) : busy
        }
        if isSilent, generator.chance(1, outOf: 2) { return Outcome(.unknown) }
        record.deliveries += 1
        return isSilent ? Outcome(.unknown) : .accepted
    }

    /// A send of that push may be repeated: its outcome is unknown, or another worker has its claim now.
    mutating func excuse(_ push: ModelPush, id: PushID) {
        records[id, default: Record(push: push)].excuses += 1
    }
}

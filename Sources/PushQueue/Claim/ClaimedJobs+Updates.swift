import ApplePush
import CarillonIO

/// Updates of Live Activities, media sessions and channels: which of them are sent, and the time in their payloads.
extension ClaimedJobs {
    /// The positions of updates in the batch.
    var updates: [Int32] {
        batch.pushes.indices.filter { batch.pushType(of: $0).isUpdate }.map { Int32($0) }
    }

    /// The positions of background pushes in the batch.
    var paced: [Int32] {
        batch.pushes.indices.filter { batch.pushType(of: $0).isPaced }.map { Int32($0) }
    }

    /// The job of each push of the batch.
    func jobs(of positions: [Int32]) -> [Int64] {
        var owner = 0
        return positions.map { position in
            while !jobs[owner].positions.contains(position) { owner += 1 }
            return jobs[owner].id
        }
    }

    /// Writes the time into the payloads of these pushes, and drops those that are not sent now. What is left of a job is a job
    /// of its message.
    /// - Parameter decisions: One for each.
    mutating func keep(_ positions: [Int32], _ decisions: [PushDecisions.Decision]) {
        var decided = zip(positions, decisions).makeIterator()
        var next = decided.next()
        let old = batch
        var kept = PushBatch()
        kept.reserve(pushes: old.count, headings: jobs.count, bytes: old.bytes.count)
        var left: [Job] = []
        left.reserveCapacity(jobs.count)
        var refused = 0
        for var job in jobs {
            let pushes = job.positions
            job.firstPush = Int32(kept.count)
            var heading: (of: Int32, stamp: Int64?, number: Int)?
            for position in pushes {
                let push = old.pushes[Int(position)]
                var stamp: Int64?
                if let decision = next, decision.0 == position {
                    next = decided.next()
                    guard case .send(let time) = decision.1 else { continue }
                    stamp = time
                }
                let number: Int
                if let known = heading, known.of == push.heading, known.stamp == stamp {
                    number = known.number
                } else {
                    number = kept.addHeading(Int(push.heading), of: old, stamp: stamp)
                    heading = (push.heading, stamp, number)
                }
                old.bytes.withSpan(push.token.range) {
                    kept.addPush(token: $0, heading: number, id: push.id, isMalformed: push.isMalformed)
                }
            }
            let dropped = Int32(pushes.count) - (Int32(kept.count) - job.firstPush)
            job.pushes -= dropped
            let isGone = dropped > 0 && job.pushes + job.refused + job.expired == 0
            for index in refused..<refused + Int(job.refused) {
                refusedPushes[index].job = Int32(left.count)
                refusedPushes[index].token = kept.store(refusedPushes[index].token, of: old)
            }
            refused += Int(job.refused)
            if isGone { continue }
            if dropped > 0 { job.origin = job.message }
            job.reference = job.reference.map { kept.store($0, of: old) }
            left.append(job)
        }
        jobs = left
        batch = kept
    }
}

extension PushBatch {
    fileprivate mutating func store(_ range: ByteRange, of other: PushBatch) -> ByteRange {
        other.bytes.withSpan(range.range) { store($0) }
    }

    /// Adds a heading of another batch, with that time if its payload asks for one.
    fileprivate mutating func addHeading(_ number: Int, of other: PushBatch, stamp: Int64?) -> Int {
        let heading = other.headings[number]
        return other.bytes.withSpan(heading.payload.range) { payload in
            if let stamp, SendingTime.isAsked(in: payload) {
                let filled = SendingTime.filled(payload, with: stamp)
                return filled.withSpan(filled.indices) { addHeading($0, like: heading, of: other) }
            }
            return addHeading(payload, like: heading, of: other)
        }
    }

    private mutating func addHeading(_ payload: RawSpan, like heading: Heading, of other: PushBatch) -> Int {
        let fields = other.fields[Int(heading.fields)]
        return other.bytes.withSpan(fields.topic.range) { topic in
            other.bytes.withSpan(fields.collapseID.range) { collapseID in
                addHeading(
                    payload: payload,
                    topic: topic,
                    pushType: fields.pushType,
                    priority: fields.priority,
                    expiration: fields.expiration,
                    collapseID: collapseID
                )
            }
        }
    }
}

extension PushType {
    /// Apple delivers a few of them an hour to a device, and may drop the rest.
    var isPaced: Bool { self == .background }
}

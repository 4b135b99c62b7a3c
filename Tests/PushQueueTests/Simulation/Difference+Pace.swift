import CarillonPostgres

@testable import CarillonPushQueue

/// Pacing, which may also divide jobs of `scheduled`.
extension Difference {
    /// Paces the background pushes of a claim, possibly twice, as a worker does that lost the result.
    mutating func pace() async throws -> String {
        let unsettled = held.indices.filter { held[$0].settled == nil && !held[$0].claim.paced.isEmpty }
        // Most claims belong to workers that have died.
        let live = unsettled.filter { model.tables.inflight[held[$0].claim.id]?.worker == held[$0].worker }
        let some = live.isEmpty || flip(1, outOf: 8) ? unsettled : live
        guard let place = some.randomElement(using: &random) else { return "nothing to pace" }
        let claim = held[place].claim
        let pushes = claim.paced
        let max = Int32.random(in: 1...2, using: &random)
        let worker = flip(1, outOf: 8) ? anyWorker() : held[place].worker
        var step = "nothing"
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let parameters = FlightStatements.parameters(pacing: pushes, of: claim, by: worker, max: max)
            let real = try await ask(FlightStatements.paceDevices, parameters) { rows in
                try PushDecisions(rows)
            }
            let model = self.model.pace(pushes, of: claim, as: worker, max: max)
            try await adopt()
            step = same("pace \(claim.id) by \(worker), \(max) an hour", real, model)
            guard let real, worker == held[place].worker else { continue }
            held[place].claim = claim
            held[place].claim.keep(pushes, real.decisions)
        }
        if held[place].claim.count == 0 { held.remove(at: place) }
        return step
    }
}

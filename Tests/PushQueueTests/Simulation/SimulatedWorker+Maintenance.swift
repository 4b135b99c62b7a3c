import IO

@testable import PushQueue

/// What a worker does again and again beside sending.
extension SimulatedWorker {
    func keepOrder() {
        after(state.maintenanceWait()) {
            self.takeOverOrphans { self.releaseStrays { self.keepOrder() } }
        }
    }

    func keepCounts() {
        after(.seconds(1)) {
            self.withDatabase { link in self.count(on: link) { self.keepCounts() } }
        }
    }

    func takeOverOrphans(then: @escaping () -> Void) {
        withDatabase { link in
            link.ask(self) {
                $0.hasOrphans
            } then: { answer in
                switch answer {
                case .success(true): self.takeOver(from: nil, then: then)
                case .success: then()
                case .failure(let loss):
                    self.failed(loss, on: link)
                    then()
                }
            }
        }
    }

    private func releaseStrays(then: @escaping () -> Void) {
        withDatabase { link in
            let flights = self.state.heldClaims
            let worker = self.state.id
            link.ask(self) {
                $0.strays(of: worker, knowing: flights)
            } then: { answer in
                guard case .success(let strays) = answer else {
                    if case .failure(let loss) = answer { self.failed(loss, on: link) }
                    return then()
                }
                self.state.foundStrays(strays, at: self.now)
                let lost = self.state.strays.lost
                guard !lost.isEmpty else { return then() }
                link.ask(self) {
                    $0.release(lost, of: worker)
                } then: { answer in
                    if case .failure(let loss) = answer { self.failed(loss, on: link) }
                    then()
                }
            }
        }
    }

    func promote(in database: inout ModelDatabase, from start: DueFloor.Place) -> PromotionAnswer {
        var promotion = database.promote(after: start)
        promotion.cost = simulation.random.milliseconds(in: 0...8)
        return promotion
    }

    func sweep() {
        after(state.sweepWait) {
            let floors = self.state.sweep
            let promotes = self.state.sweepsScheduled
            guard !floors.isEmpty || promotes, let link = self.link else { return self.sweep() }
            link.ask(self) { database in
                (promotes ? self.promote(in: &database, from: .beginning) : nil, database.lookBelow(floors))
            } then: { answer in
                switch answer {
                case .failure(let loss): self.failed(loss, on: link)
                case .success(let (promotion, found)):
                    if let promotion { self.state.promoted(promotion, from: .beginning, at: self.now) }
                    self.state.swept(found, at: self.now)
                    self.dispatch()
                }
                self.sweep()
            }
        }
    }
}

import CarillonText

/// The worker itself, and other workers that died.
extension WorkerEvent {
    static func started(worker: Int64, version: String) -> Self {
        Self(.started, .info, "The worker has started.").with(["worker": worker, "version": version])
    }

    static let draining = Self(.draining, .info, "Stopping: waiting for the answers to what was sent.")
    static let gaveUp = Self(.gaveUp, .warning, "Stopping at once: other workers can claim the unsent jobs.")
    static let ended = Self(.ended, .info, "The worker has ended.")

    static func leaseLost(worker: Int64) -> Self {
        let sentence =
            "Other workers considered this worker dead and took over its jobs; it continues with another id."
        return Self(.leaseLost, .warning, sentence).with(["worker": worker])
    }

    static func tookOver(workers: Int64, claims: Int64, jobs: Int64) -> Self {
        guard claims > 0 else {
            return Self(.tookOver, .info, "Took over the jobs of workers that died; they had none.")
                .with(["workers": workers])
        }
        return Self(.tookOver, .warning, "Took over the jobs of workers that died.")
            .with(["workers": workers, "claims": claims, "jobs": jobs]).counted { $0[.takeovers] += Int(claims) }
    }
}

import CarillonIO

/// The workers of one process, one for each database. They share connections to gateways, and APNs accepts a new provider token on
/// a connection only every twenty minutes. So a signing key that several of the databases have uses one token in all of them.
package final class WorkerPeers: Sendable {
    private struct Member {
        weak var worker: Worker?
    }

    private let members = Guarded<[Member]>([])
    /// How long to wait for workers that are starting. Without them, another process might mint a token in their databases.
    private let startEnd = MonotonicInstant.now + .seconds(5)

    package init() {}

    func join(_ worker: Worker) { members.withLock { $0.append(Member(worker: worker)) } }

    /// By their installations, so that all processes begin with the same database, whatever the order of their options is.
    func ordered() async -> [Worker] {
        var workers: [(worker: Worker, installation: (UInt64, UInt64))] = []
        for worker in members.withLock({ $0.compactMap { $0.worker } }) {
            workers.append((worker, await worker.installation(by: startEnd)))
        }
        return workers.sorted { $0.installation < $1.installation }.map(\.worker)
    }
}

import CarillonIO
import CarillonPostgres

/// Writes for apps over the shared connection or, once a statement has timed out on a lock, over the detour: a connection where
/// only such statements wait for each other.
final class AppWriter {
    /// A statement with at least this many rows is a large one.
    static let manyRows = 64

    private let database: WorkerDatabase
    /// Two large statements run at a time, so that the server always has the next one. They return in order, so a small
    /// statement waits for two large ones at most.
    private var large = AccessQueue<CheckedContinuation<Void, Never>>(places: 2)
    private var lockedApps = LockedApps()
    private var detourQueue = DetourQueue<CheckedContinuation<Void, Never>>()

    init(_ database: WorkerDatabase) { self.database = database }

    /// A large statement waits for others. Call `largeEnded` when it has returned.
    func waitForLarge() async { await withCheckedContinuation { if large.join($0) { $0.resume() } } }

    func largeEnded() { large.leave()?.resume() }

    /// - Parameter timedOut: An earlier try timed out waiting for a lock.
    /// - Returns: Nil if the worker is stopping.
    func write<R: Sendable>(
        for app: Int32,
        _ statement: Statement,
        _ parameters: Parameters,
        isLarge: Bool = false,
        timedOut: Bool,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R? {
        guard let connection = await database.connection() else { return nil }
        do throws(PostgresError) {
            let result: R
            if timedOut || lockedApps.mustDetour(app, at: .now) {
                result = try await askAside(for: app, statement, parameters, decode)
            } else {
                if isLarge { await waitForLarge() }
                defer { if isLarge { largeEnded() } }
                do throws(PostgresError) {
                    result = try await database.ask(connection, statement, parameters, decode)
                } catch {
                    database.failed(error, on: connection, isPaced: true)
                    throw error
                }
            }
            lockedApps.passed(app)
            return result
        } catch {
            if error.isTimeout { lockedApps.met(lockOf: app, at: .now) }
            throw error
        }
    }

    private func askAside<R: Sendable>(
        for app: Int32,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        if !detourQueue.take() { await withCheckedContinuation { detourQueue.wait($0, of: app) } }
        let result: Result<R, PostgresError>
        do throws(PostgresError) {
            result = .success(try await database.ask(try await database.detour(), statement, parameters, decode))
        } catch {
            database.logError(error)
            result = .failure(error)
        }
        if case .failure(let error) = result, error.code == .closed { await database.close(for: .detour) }
        if let next = detourQueue.pass() { next.resume() } else { await database.close(for: .detour) }
        return try result.get()
    }
}

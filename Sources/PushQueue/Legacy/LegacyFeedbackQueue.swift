package import ApplePush
package import CarillonPostgres

/// The lists of the legacy feedback service that are to be read, one after the other. Reading resumes when a lost connection
/// to the database is back.
package struct LegacyFeedbackQueue: Sendable {
    /// How reading the list of an app ended.
    package struct Summary: Equatable, Sendable {
        package let app: String
        /// Nil if it is unknown.
        package let gateway: String?
        /// How many dead tokens the list had. All are in the table.
        package let tokens: Int
        /// Why it could not be read, or ended early.
        package let failure: String?
    }

    private var waiting: ArraySlice<LegacyFeedbackOrigin>
    private var reading: LegacyFeedbackTransfer?
    private var summaries: [Summary] = []

    private static let tell = Statement(
        "tell_feedback_error",
        """
        UPDATE carillon.apps a SET feedback_error = $2
        WHERE a.id = ANY ($1::integer[]) AND a.feedback_error IS DISTINCT FROM $2
        """
    )

    package init(of app: String?, on connection: PostgresConnection) async throws(PostgresError) {
        waiting = try await LegacyFeedbackOrigin.read(of: app, on: connection)[...]
    }

    /// A list has been begun.
    package var isUnderWay: Bool { reading != nil }

    /// Entries that were read and are not in the table yet.
    package var unwritten: Int { reading?.unwritten ?? 0 }

    /// Returns the lists that were read since the last call.
    package mutating func takeSummaries() -> [Summary] {
        defer { summaries = [] }
        return summaries
    }

    /// A list that was begun is read to its end, since the gateway sends each entry only once.
    package mutating func goOn(
        by backend: any Backend,
        on connection: PostgresConnection,
        whileTrue mayGoOn: () -> Bool
    ) async throws(PostgresError) {
        while isUnderWay || mayGoOn() {
            guard reading == nil else {
                try await finish(on: connection)
                continue
            }
            guard let origin = waiting.first else { return }
            try await LegacyFeedbackTransfer.check(origin, on: connection)
            do throws(Hold) {
                reading = try await Self.open(origin, by: backend)
            } catch {
                try await conclude(origin, entries: 0, error.message, on: connection)
            }
            waiting.removeFirst()
        }
    }

    private static func open(_ origin: LegacyFeedbackOrigin, by backend: any Backend) async throws(Hold)
        -> LegacyFeedbackTransfer
    {
        let route = try origin.route.get()
        do {
            return LegacyFeedbackTransfer(
                of: origin,
                try await backend.feedback(from: route.gateway, with: route.credential)
            )
        } catch {
            throw Hold(error)
        }
    }

    private mutating func finish(on connection: PostgresConnection) async throws(PostgresError) {
        guard var reading = self.reading else { return }
        do throws(PostgresError) {
            try await reading.goOn(on: connection)
            try await conclude(reading.origin, entries: reading.kept, await reading.failure?.message, on: connection)
            self.reading = nil
        } catch {
            self.reading = reading
            throw error
        }
    }

    private mutating func conclude(
        _ origin: LegacyFeedbackOrigin,
        entries tokens: Int,
        _ failure: String?,
        on connection: PostgresConnection
    ) async throws(PostgresError) {
        try await connection.execute(Self.tell, Parameters(PostgresArray(origin.apps), failure))
        let gateway = (try? origin.route.get())?.gateway.description
        summaries += origin.names.map { name in
            Summary(app: name, gateway: gateway, tokens: tokens, failure: failure)
        }
    }
}

import ApplePush
import CarillonPostgres
import TestSupport
import Testing

/// The list of push types in SQL, beside the one of `ApplePush`.
@Suite struct PushTypeListTests {
    @Test func `every push type can be enqueued`() async throws {
        try await TestDatabase.withDemo { database in
            for type in PushType.all {
                let id = try await database.value("carillon.enqueue('demo', '{ab}', 'x', push_type => '\(type)')")
                #expect(id != nil, "\(type)")
            }
        }
    }

    @Test func `the error for an unknown push type lists all push types`() async throws {
        try await TestDatabase.withDemo { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.enqueue('demo', '{ab}', 'x', push_type => 'smell')")
            }
            let names = PushType.all.map(\.name).joined(separator: ", ")
            #expect(error?.message.contains(names) == true, "\(error as Any)")
        }
    }
}

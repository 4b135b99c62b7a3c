import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

@testable import CarillonPushQueue

/// What the gateway of one app says about a credential, and what follows for the other apps that have it.
@Suite(.demo) struct SharedCredentialTests {
    private static let setUp = """
        INSERT INTO carillon.provider_tokens (certificate_id, jwt, issued_at) VALUES (1, 'x', now());
        UPDATE carillon.certificates SET status = 'ok'
        """
    private static let rests = "SELECT count(*) FROM carillon.provider_tokens WHERE rests_until > now()"
    private static let status = "SELECT status, last_error FROM carillon.certificates"

    /// The gateway that refuses the credential, that of another app with it, and whether the refusal counts. Nil is Apple.
    private static let gateways: [(String?, String?, Bool)] = [
        (nil, nil, true), (nil, "relay:443", true), ("relay:443", "relay:443", true), ("evil:443", nil, false),
        ("evil:443", "relay:443", false),
    ]

    private func share(_ own: String?, _ other: String?) async throws {
        func text(_ gateway: String?) -> String { gateway.map { "'\($0)'" } ?? "NULL" }
        try await database.run(
            """
            \(Self.setUp); UPDATE carillon.apps SET gateway = \(text(own));
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway)
            VALUES ('other', 'com.example.other', 1, \(text(other)))
            """
        )
    }

    private func stopMinting() async throws {
        let note = WorkerNotes.Note.status(of: 1, app: 1, nil, error: nil, stopsMinting: true)
        try await note.write(by: 0, on: database.connection)
    }

    private func judge(_ status: CredentialStatus, error: String? = nil) async throws {
        let note = WorkerNotes.Note.status(of: 1, app: 1, status, error: error)
        try await note.write(by: 0, on: database.connection)
    }

    @Test(arguments: Self.gateways)
    func `a gateway that not all apps with a signing key use does not stop new provider tokens`(
        _ own: String?,
        _ other: String?,
        _ counts: Bool
    ) async throws {
        try await share(own, other)
        try await stopMinting()
        #expect(try await database.number(Self.rests) == (counts ? 1 : 0))
    }

    @Test(arguments: Self.gateways)
    func `a gateway that not all apps with a credential use neither rejects it for all, nor hides that another does`(
        _ own: String?,
        _ other: String?,
        _ counts: Bool
    ) async throws {
        try await share(own, other)
        try await judge(.rejected, error: "no")
        #expect(try await database.rows(Self.status) == [counts ? "(rejected,no)" : "(ok,)"])
        try await database.run("UPDATE carillon.certificates SET status = 'rejected', last_error = 'Apple says no'")
        try await judge(.ok)
        #expect(try await database.rows(Self.status) == [counts ? "(ok,)" : #"(rejected,"Apple says no")"#])
        // This is found without a gateway.
        try await judge(.invalid, error: "unreadable")
        #expect(try await database.rows(Self.status) == ["(invalid,unreadable)"])
    }

    @Test func `an app that no longer has the credential says nothing about it`() async throws {
        try await share(nil, nil)
        try await database.run("UPDATE carillon.apps SET certificate_id = NULL WHERE id = 1")
        try await stopMinting()
        try await judge(.rejected, error: "no")
        #expect(try await database.number(Self.rests) == 0)
        #expect(try await database.rows(Self.status) == ["(ok,)"])
    }

    @Test func `refusals of new provider tokens during a rest do not prolong it, and later ones begin another`()
        async throws
    {
        try await database.run(Self.setUp)
        let end = "SELECT rests_until FROM carillon.provider_tokens"
        for rest in ["20 minutes", "5 minutes"] {
            try await database.run("UPDATE carillon.provider_tokens SET rests_until = now() + interval '\(rest)'")
            let before = try await database.value(end)
            try await stopMinting()
            try await stopMinting()
            #expect(try await database.value(end) == before)
        }
        let isNew = "SELECT rests_until - now() BETWEEN '19 minutes' AND '20 minutes' FROM carillon.provider_tokens"
        // The last one began before the clock was set back.
        for over in ["NULL", "now() - interval '1 second'", "'-infinity'", "now() + interval '1 hour'"] {
            try await database.run("UPDATE carillon.provider_tokens SET rests_until = \(over)")
            try await stopMinting()
            #expect(try await database.value(isNew) == "true", "\(over)")
        }
    }
}

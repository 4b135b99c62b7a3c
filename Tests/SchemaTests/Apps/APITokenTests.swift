import CarillonPostgres
import TestSupport
import Testing

/// The tokens with which programs enqueue over HTTP.
@Suite(.demo) struct APITokenTests {
    @Test(arguments: ["NULL", "''", "repeat('é', 128)"])
    func `the name of a token has 1 to 255 bytes`(name: String) async throws {
        let error = await database.refusal(of: "SELECT carillon.create_api_token('demo', \(name))")
        #expect(error?.sqlState == "22023")
        #expect(error?.message.hasPrefix(#"argument "name" takes text of 1 to 255 bytes, got "#) == true)
    }

    @Test func `the removal of a token is recorded with the person who is named`() async throws {
        _ = try await database.value("carillon.create_api_token('demo', 'the shop', 'anna')")
        #expect(try await database.value("carillon.remove_api_token('demo', 'the shop', 'bert')") == "true")
        #expect(try await database.value("carillon.remove_api_token('demo', 'the shop', 'bert')") == "false")
        #expect(
            try await database.rows(
                "SELECT on_behalf_of, action FROM carillon.audit WHERE action LIKE '%token' ORDER BY id"
            ) == ["(anna,\"create API token\")", "(bert,\"remove API token\")"]
        )
    }

    @Test(arguments: [
        ("rights => '{}'", "rights"), ("rights => '{send,write}'", "rights"), ("rights => '{NULL}'", "rights"),
        ("expires_at => now()", "expires_at"), ("expires_at => '-infinity'", "expires_at"),
    ])
    func `a token has known rights, and an end in the future`(argument: String, name: String) async throws {
        let error = await database.refusal(of: "SELECT carillon.create_api_token('demo', 'x', \(argument))")
        #expect(error?.sqlState == "22023")
        #expect(error?.message.hasPrefix("argument \"\(name)\" takes ") == true, "\(error?.message ?? "")")
    }
}

import ApplePushSimulator
import CarillonPostgres
import TestSupport
import Testing

/// Settings of the login of workers, made for other programs or left behind in a session of a pooler.
@Suite struct LoginSettingTests {
    private static func with(_ body: (Shop, _ login: String, _ environment: [String: String]) async throws -> Void)
        async throws
    {
        try await Shop.with { shop in
            let login = "login_\(shop.database.connection.backendProcessID)"
            let tenant = "tenant_" + login
            try await shop.database.connection.script(
                """
                CREATE ROLE \(login) LOGIN; GRANT carillon_worker TO \(login);
                CREATE ROLE \(tenant); SELECT carillon.isolate_app('shop', '\(tenant)')
                """
            )
            try await attempt {
                try await body(
                    shop,
                    login,
                    ["DATABASE_URL": shop.database.url.replacing("user=postgres", with: "user=\(login)")]
                )
            } finally: {
                for name in [login, tenant] {
                    try await shop.database.connection.script("DROP OWNED BY \(name); DROP ROLE \(name)")
                }
            }
        }
    }

    @Test(arguments: ["row_security = off", "idle_in_transaction_session_timeout = '1ms'"])
    func `workers send whatever is set for their login`(setting: String) async throws {
        try await Self.with { shop, login, environment in
            try await shop.enqueue(2)
            try await shop.database.connection.script("ALTER ROLE \(login) SET \(setting)")
            for words in [["worker", "--once"], ["feedback", "--once"], ["check"]] {
                let run = try await ProgramRun.run(words, environment: environment)
                #expect(run.status == 0, "\(words): \(run.output)\(run.errors)")
            }
            #expect(await shop.gateway.receivedRequests().count == 2)
        }
    }

    @Test func `check proposes no grant to a role that something has set for the login`() async throws {
        try await Self.with { shop, login, environment in
            try await shop.database.connection.script(
                "GRANT carillon_app TO \(login); ALTER ROLE \(login) SET role = carillon_app"
            )
            let check = try await ProgramRun.run(["check"], environment: environment)
            #expect(check.output.contains("The user \(login) acts as the role carillon_app"), "\(check.output)")
            #expect(!check.output.contains("GRANT carillon_worker"), "\(check.output)")
        }
    }
}

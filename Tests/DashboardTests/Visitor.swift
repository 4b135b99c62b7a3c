import CarillonPostgres
import TestSupport
import Testing

/// What a browser has after it has loaded a page: its cookie, and the token of its forms.
struct Visitor {
    let client: DashboardClient
    let headers: String
    let token: String

    init(_ client: DashboardClient, _ path: String = "/apps/shop", headers: String = "") async throws {
        let page = await client.get(path, headers: headers)
        let cookie = page.header("Set-Cookie").map { "Cookie: \($0.prefix { $0 != ";" })\r\n" }
        self.client = client
        self.headers = cookie ?? headers
        token = try Self.hidden("form_token", in: page.body)
    }

    func post(_ path: String, _ form: String = "", more: String = "") async -> DashboardClient.Answer {
        await client.post(path, "form_token=\(token)&\(form)", headers: headers + more)
    }

    /// The value of a hidden field.
    static func hidden(_ name: String, in page: String) throws -> String {
        let expression = try Regex("name=\"\(name)\" value=\"([^\"]*)\"", as: (Substring, Substring).self)
        return String(try #require(page.firstMatch(of: expression)).output.1)
    }

    /// A login with the rights of an operator, and a dashboard that lets this machine change something.
    static func withOperator(
        _ words: [String] = ["--local-changes"],
        roles: String = "carillon_reader, carillon_operator",
        _ body: (Shop, DashboardClient) async throws -> Void
    ) async throws {
        try await Shop.with(answers: ["bad=400:BadDeviceToken", "dead=410:Unregistered"]) { shop in
            let login = "operator_\(shop.database.connection.backendProcessID)"
            try await shop.database.run("CREATE ROLE \(login) LOGIN; GRANT \(roles) TO \(login)")
            try await attempt {
                try await DashboardClient.with(shop.database.url + "&user=\(login)", in: shop.folder, words) {
                    client,
                    _ in
                    try await body(shop, client)
                }
            } finally: {
                try await shop.database.run("DROP OWNED BY \(login); DROP ROLE \(login)")
            }
        }
    }
}

extension DashboardClient.Answer {
    /// Whether it leads to a page that says this, with a seal.
    func isDone(_ what: String) -> Bool {
        status == "303" && header("Location")?.contains("done=\(what)&seal=") ?? false
    }
}

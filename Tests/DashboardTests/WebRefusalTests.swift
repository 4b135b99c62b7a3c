import CarillonText
import TestSupport
import Testing

/// What programs are told when a request is refused, by a page or before it reaches one.
@Suite(.shop) struct WebRefusalTests {
    private static let json = "Accept: application/json\r\n"

    @Test
    func `a program gets a problem document for every refused request, and a person a page or text`() async throws {
        let operators = try shop.folder.write("operators", "battery staple")
        let words = ["--operator-password-file", operators]
        try await DashboardClient.with(shop.database.url, in: shop.folder, words) { client, _ in
            let foreign = "\(Self.json)Origin: http://elsewhere.example\r\n"
            let long = String(repeating: "x", count: 300_000)
            // The token is looked up before the body is read.
            let nested = String(repeating: "[", count: 200_000)
            let program = "Content-Type: application/json\r\nAuthorization: Bearer x\r\n"
            let refused: [(DashboardClient.Answer, String)] = [
                (await client.get("/nothing", json: true), "404"),
                (await client.get("/apps/none", json: true), "404"),
                (await client.get("/messages/0", json: true), "400"),
                (await client.get("/trace?q=%ff", json: true), "400"),
                (await client.get("/live?page=/apps/none", json: true), "404"),
                (await client.get("/live", json: true), "400"),
                (await client.get("/messages", json: true), "405"),
                (await client.post("/apps", "", headers: Self.json), "405"),
                (await client.post("/apps/shop/pause", "", headers: Self.json), "403"),
                (await client.post("/apps/shop/pause", "", headers: foreign), "403"),
                (await client.post("/apps/shop/pause", long, headers: Self.json), "413"),
                (await client.post("/messages", long, headers: "Content-Type: application/json\r\n"), "413"),
                (await client.post("/messages", nested, headers: program), "401"),
                (await client.post("/login", "", headers: Self.json), "400"),
                (await client.post("/login", "password=wrong", headers: Self.json), "403"),
            ]
            for (answer, status) in refused {
                #expect(answer.status == status, "\(answer.head)")
                #expect(answer.header("Content-Type") == "application/problem+json", "\(answer.head)")
                #expect(DashboardClient.isJSON(answer.body), "\(answer.body)")
                for member in ["\"type\":\"about:blank\"", "\"status\":\(status)", "\"title\":\"", "\"detail\":\""] {
                    #expect(answer.body.contains(member), "\(answer.body)")
                }
            }
            #expect(await client.post("/apps", "", headers: Self.json).header("Allow") == "GET, HEAD")
            let page = await client.get("/nothing")
            #expect(page.status == "404" && page.header("Content-Type") == "text/html; charset=utf-8")
            #expect(page.body.contains("There is nothing at this path.") && page.body.contains("href=\"/failures\""))
            #expect(page.header("Set-Cookie") == nil)
            let text = await client.post("/nothing", "")
            #expect(text.header("Content-Type") == "text/plain; charset=utf-8")
            #expect(text.body == "There is nothing at this path. The page docs/http.md lists all paths.\n")
        }
    }
}

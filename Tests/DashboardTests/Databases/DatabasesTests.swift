import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import CarillonDashboard

/// One dashboard for several databases, by itself and in a worker.
@Suite struct DatabasesTests {
    /// Two databases with an app each, and one that cannot be reached, and the top of each one's pages.
    private func withDatabases(
        _ body: (_ urls: String, _ shop: Shop, _ other: TestDatabase, _ tops: [String]) async throws -> Void
    ) async throws {
        try await Shop.with { shop in
            try await TestDatabase.with(.schema) { other in
                try await other.run(
                    "INSERT INTO carillon.apps (name, topic, paused) VALUES ('news', 'com.example.news', true)"
                )
                let urls = [shop.database.url, other.url, "postgresql://127.0.0.1:1/none"]
                let places = DatabaseMount.of(urls)
                try await body(urls.joined(separator: "\n"), shop, other, places.map { $0.path("/") })
            }
        }
    }

    @Test func `each database has addresses of its own`() {
        let urls = ["postgresql://a/b.c", "postgresql://a.b/c", "postgresql://a/d"]
        let paths = DatabaseMount.of(urls).map { $0.path("/apps") }
        #expect(Set(paths).count == 3, "\(paths)")
    }

    @Test func `the first page has the state of each, and every other address is of one of them`() async throws {
        try await withDatabases { urls, shop, other, tops in
            try await shop.enqueue(1)
            try await DashboardClient.with(urls, in: shop.folder, ["--local-changes"]) { client, _ in
                let list = try DashboardClient.read(await client.get("/"), "/").text
                #expect(list.contains("Databases") && list.contains("Nothing is wrong") == false, "\(list)")
                let json = await client.get("/", json: true).body
                #expect(DashboardClient.isJSON(json))
                for top in tops { #expect(json.contains("\"see\":\"\(top)\""), "\(json)") }
                #expect(json.contains("\"overview\":null") && json.contains("news is paused"), "\(json)")
                #expect(json.contains("No worker is running, and jobs wait."), "\(json)")
                let links = json.matches(of: /"see":"([^"]*)"/).map { String($0.output.1) }
                #expect(links.contains(tops[1] + "/apps/news"), "\(links)")
                for link in links { #expect(tops.contains { link == $0 || link.hasPrefix($0 + "/") }, "\(link)") }

                #expect(await client.get(tops[0] + "/apps/shop").status == "200")
                #expect(await client.get(tops[1] + "/apps/shop").status == "404")
                #expect(await client.get(tops[1] + "/apps/news").status == "200")
                #expect(await client.get(tops[2]).status == "503")
                #expect(await client.get("/apps").status == "404")
                let moved = await client.get(tops[1] + "/?x=1")
                #expect(moved.status == "308" && moved.header("Location") == tops[1] + "?x=1", "\(moved.head)")

                let pages = DashboardClient.pages.map { ($0 == "/" ? "" : $0, "200") }
                for (path, status) in pages + [("/apps/shop", "200"), ("/apps/none", "404")] {
                    let page = await client.get(tops[0] + path)
                    #expect(page.status == status, "\(path): \(page.head)")
                    for (name, attributes) in try DashboardClient.read(page, path).elements {
                        let address = attributes["href"] ?? attributes["action"] ?? tops[0]
                        let isOfAll = address == "/" || address == "#main" || address.hasPrefix("/assets/")
                        #expect(isOfAll || address.hasPrefix(tops[0]), "\(path): <\(name)> \(address)")
                    }
                }
            }
        }
    }

    @Test func `a form changes the database of its page alone, and leads back to it`() async throws {
        try await withDatabases { urls, shop, other, tops in
            try await other.run("INSERT INTO carillon.apps (name, topic) VALUES ('shop', 'com.example.shop')")
            try await DashboardClient.with(urls, in: shop.folder, ["--local-changes"]) { client, _ in
                let page = await client.get(tops[1] + "/apps/shop")
                let cookie = try #require(page.header("Set-Cookie")?.prefix { $0 != ";" })
                let form = try #require(page.body.firstMatch(of: /name="form_token" value="([0-9a-f]{64})"/))
                let token = form.output.1
                let done = await client.post(
                    tops[1] + "/apps/shop/pause",
                    "form_token=\(token)&reason=one",
                    headers: "Cookie: \(cookie)\r\n"
                )
                #expect(done.status == "303" && done.header("Location")?.hasPrefix(tops[1] + "/apps/shop?") == true)
                #expect(try await other.value("(SELECT paused FROM carillon.apps WHERE name = 'shop')") == "true")
                #expect(try await shop.database.value("(SELECT paused FROM carillon.apps)") == "false")
            }
        }
    }

    @Test func `a worker serves the dashboards of all its databases`() async throws {
        try await withDatabases { urls, shop, other, tops in
            try await TestLoop.with { loop in
                let program = try BackgroundProgram(
                    ["worker", "--web", "--web-http", "127.0.0.1:0", "--local-changes"],
                    environment: ["DATABASE_URL": TestLogin.workerWithWeb.url(urls)],
                    in: shop.folder
                )
                let line = try await program.line(containing: "dashboard is served", on: loop)
                let digits = try #require(line.firstMatch(of: /"port":(\d+)/)).output.1
                let port = try #require(UInt16(digits))
                let client = DashboardClient(port: port, program: program)
                #expect(await client.get("/").status == "200")
                try await loop.eventually("the worker is on the page") {
                    await client.get(tops[0] + "/workers", json: true).body.contains("\"alive\":true")
                }
                let id = try await shop.database.number(
                    "SELECT carillon.enqueue('shop', '{\(Shop.token("a0"))}', alert => 'hi')"
                )
                try await loop.eventually("the message is sent") {
                    await client.get(tops[0] + "/messages/\(id)?app=shop", json: true).body.contains("\"sent\":1")
                }
                #expect(await client.get(tops[1] + "/apps/news").status == "200")
                // The API too, to programs that need no login.
                let create = "carillon.create_api_token('shop', 'test', rights => '{read}')"
                let token = try #require(try await shop.database.value(create))
                let headers = "Authorization: Bearer \(token)\r\n"
                let status = await client.get(tops[0] + "/v1/apps/shop/messages/\(id)", headers: headers)
                #expect(status.status == "200" && status.body.contains("\"sent\": 1"), "\(status.body)")
                #expect(await client.get(tops[0] + "/openapi.json").body.hasPrefix("{\"openapi\":\"3.1.0\","))
                _ = try await program.end(by: SIGTERM, on: loop)
            }
        }
    }
}

import TestSupport
import Testing

/// What `docs/http.md` says of the forms is what the pages have.
@Suite struct FormPageTests {
    /// A field of a form, as the table has it: the address and the name.
    private struct Field: Hashable, CustomStringConvertible {
        let address: String
        let name: String

        var description: String { "\(address) \(name)" }
    }

    /// The rows of the table of fields.
    private static func documented() throws -> Set<Field> {
        let page = try GeneratedPage("docs/http.md").text
        let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Changing\n") })
        let rows = section.matches(of: /\n\| `(\/[^`]*)` \| (`[^|]*`) \|/)
        return Set(
            rows.flatMap { row in
                row.output.2.matches(of: /`([^`]+)`/).map {
                    Field(address: String(row.output.1), name: String($0.output.1))
                }
            }
        )
    }

    /// The fields of the forms of a page that are sent to the server to change something.
    private static func fields(of page: HTMLReading) -> Set<Field> {
        var fields: Set<Field> = []
        var address: String?
        for event in page.events {
            switch event {
            case .start("form", let attributes): address = attributes["method"] == "post" ? attributes["action"] : nil
            case .end("form"): address = nil
            case .start("input", let attributes), .start("select", let attributes), .start("textarea", let attributes),
                .start("button", let attributes):
                guard let address, let name = attributes["name"], name != "form_token" else { continue }
                let path = address.replacing("/apps/shop/", with: "/apps/NAME/")
                    .replacing("/webhooks/crm/", with: "/webhooks/NAME/")
                    .replacing(/\/messages\/[0-9]+\//, with: "/messages/ID/")
                fields.insert(Field(address: path, name: name))
            default: continue
            }
        }
        return fields
    }

    @Test func `the table of fields has those of every form, and no others`() async throws {
        try await Visitor.withOperator { shop, client in
            let operators = try shop.folder.write("operators", "battery staple")
            try await shop.database.run("SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("bad"))'], 'x')")
            #expect(try await shop.drain().status == 0)
            try await shop.database.run(
                """
                SELECT carillon.add_webhook('crm', 'shop', 'https://a.example/');
                SELECT carillon.note_dead(1, '{aa}', ARRAY[now()])
                """
            )
            let id = try await shop.database.number("SELECT carillon.enqueue('shop', '{aa}', 'x')")
            var fields: Set<Field> = []
            let visitor = try await Visitor(client)
            let actions = ["requeue?include_unknown=yes&", "dismiss?"].map {
                "/failures/\($0)app=shop&reason=BadDeviceToken"
            }
            let named = ["/apps/shop", "/webhooks/crm", "/webhooks/crm/redeliver?since=1h", "/messages/\(id)/cancel"]
            for path in DashboardClient.pages + named + actions {
                let page = try DashboardClient.read(await client.get(path, headers: visitor.headers), path)
                fields.formUnion(Self.fields(of: page))
            }
            let push = "app=shop&token=\(Shop.token("a0"))&text=hi&preview=yes"
            fields.formUnion(Self.fields(of: try DashboardClient.read(await visitor.post("/test", push), "/test")))
            // With a right of its own, since a form of the login is on no page of this dashboard.
            let words = ["--operator-password-file", operators]
            try await DashboardClient.with(shop.database.url, in: shop.folder, words) { client, _ in
                fields.formUnion(Self.fields(of: try DashboardClient.read(await client.get("/login"), "/login")))
            }
            let documented = try Self.documented()
            #expect(fields.subtracting(documented).isEmpty, "docs/http.md lacks \(fields.subtracting(documented))")
            #expect(documented.subtracting(fields).isEmpty, "no form has \(documented.subtracting(fields))")
        }
    }
}

import TestSupport
import Testing

extension BrowserTests {
    @Test(arguments: [true, false])
    func `a webhook is paused and resumed, and its events posted again, with clicks, with JavaScript on or off`(
        scripts: Bool
    ) async throws {
        try await withShop(scripts: scripts) { shop, browser, root in
            try await browser.open(root + "/apps/shop")
            try await browser.click("a[href='/webhooks/crm']")
            try await browser.see("the request to the receiver failed: it cannot be reached")
            try await browser.type("its server moves", into: "input[name=reason]")
            try await browser.click("form[action='/webhooks/crm/pause'] button")
            try await browser.see("The webhook is paused: its events wait.")
            try await browser.see("its server moves")
            try await browser.click("form[action='/webhooks/crm/resume'] button")
            try await browser.see("The webhook is resumed")

            try await browser.type("2h", into: "input[name=since]")
            try await browser.click("form[action='/webhooks/crm/redeliver'] button")
            try await browser.see("again, stored since")
            try await browser.click("button.danger")
            try await browser.see("events will be posted again.")
            let changes = "SELECT action, details ->> 'name' FROM carillon.audit WHERE source = 'dashboard' ORDER BY id"
            #expect(
                try await shop.database.rows(changes) == [
                    #"("pause webhook",crm)"#, #"("resume webhook",crm)"#, #"("redeliver webhook",crm)"#,
                ]
            )
        }
    }
}

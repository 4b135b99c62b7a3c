import CarillonSchema
import CarillonText
import CarillonWeb

/// A table of apps with their counts; each is a link.
struct AppTable {
    let caption: String
    let apps: [AppStatus]

    var html: HTML {
        DataTable(
            caption,
            apps,
            .text("App") { .app($0.name) },
            .text("State") { $0.state.mark.html($0.state.rawValue) },
            .number("Ready") { Quantity.short($0.ready) },
            .number("Oldest") { $0.oldestAge.map(DurationText.age) ?? "–" },
            .number("Scheduled") { Quantity.short($0.scheduled) },
            .number("In flight") { Int($0.inFlight).grouped },
            .number("Sent, hour") { Quantity.short($0.sentLastHour) },
            .number("Failed, hour") { Quantity.short($0.failedLastHour) },
            .text("Main reason") { app in
                guard let reason = app.failureReason else { return HTML("–") }
                return HTML(.a, .href(Link("failures", query: ["app": app.name, "reason": reason]))) { reason }
            },
            .text("Credential") {
                StateMark.ofCredential($0.credentialStatus).html($0.credentialStatus?.rawValue ?? "not checked")
            }
        ).html
    }
}

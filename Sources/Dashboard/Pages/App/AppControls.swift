import CarillonSchema
import CarillonWeb

/// The forms on the page of an app, for viewers who may change something.
struct AppControls {
    let app: AppStatus
    let settings: AppView.Settings
    let viewer: Viewer

    @HTMLBuilder var html: HTML {
        HTML(.h2) { "Change" }
        if app.isPaused {
            ActionForm.html(Link("apps", app.name, "resume"), viewer, class: "filters") {
                ActionForm.button("Resume: send again")
            }
        } else {
            ActionForm.html(Link("apps", app.name, "pause"), viewer, class: "filters") {
                ActionForm.field(
                    "Why",
                    "reason",
                    maxLength: Form.reasonLength,
                    isWide: true,
                    note: "shown with the app"
                )
                ActionForm.button("Pause: messages wait", isDangerous: true)
            }
        }
        ActionForm.html(Link("apps", app.name, "limits"), viewer, class: "filters") {
            ActionForm.field(
                "Maximum pushes per second",
                "max_rate",
                value: settings.maxRate.map(String.init),
                type: "number",
                least: "1",
                note: "no limit"
            )
            ActionForm.field(
                "Maximum attempts",
                "max_attempts",
                value: String(settings.maxAttempts),
                type: "number",
                least: "1"
            )
            ActionForm.check("BadDeviceToken deletes the token", "reap_bad_tokens", isOn: settings.reapBadTokens)
            ActionForm.button("Set limits")
        }
        HTML(.p) {
            HTML(.a, .href(Link("test", query: ["app": app.name]))) { "Send a test push" }
            " "
            HTML(.span, .class("note")) { "Topic, credential and gateway are changed with 'carillon app set'." }
        }
    }
}

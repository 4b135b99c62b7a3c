import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows what was found, and what it means for somebody who did not get a push.
struct FindView: PageView {
    let wanted: String
    let messages: [FoundMessage]
    /// The events of the device token; nil if the search was not for a token.
    let events: [TokenEvent]?
    /// The apps of which there is more than was searched.
    let unsearched: [String]
    let tokens: TokenDisplay

    var title: String { "Find a push" }
    var section: PageSection { .find }

    private var isNothing: Bool { messages.isEmpty && (events ?? []).isEmpty }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        form
        if wanted.isEmpty {
            HTML(.p, .class("note")) {
                "Enter your own reference, the id that enqueue or broadcast returned, or a device token. Waiting messages "
                    + "are found among the newest rows of each app; ended ones for as long as workers keep them (--retention)."
            }
        } else if isNothing {
            nothing
        }
        if let more { HTML(.p, .class("notice")) { more } }
        if !messages.isEmpty {
            DataTable(
                "Messages",
                messages,
                .text("Message") { message in HTML(.a, .href(message.link)) { String(message.id) } },
                .text("App") { HTML($0.app ?? "an app that is gone") },
                .text("State") { message in message.state.map { StateMark.ofMessage($0).html($0.rawValue) } ?? HTML("–")
                },
                .text("Enqueued") { $0.createdAt?.html ?? HTML("–") },
                .text("Reference") { HTML($0.reference ?? "–") }
            ).html
        }
        if let events, !events.isEmpty {
            HTML(.h2) {
                "Device token "
                HTML(.code) { tokens.text(wanted) }
            }
            HTML(.ul, .class("story")) { for sentence in TokenStory.sentences(events) { HTML(.li) { sentence } } }
            DataTable(
                "What is known about it",
                events,
                .text("When") { $0.at?.html ?? HTML("–") },
                .text("App") { .app($0.app) },
                .text("What") { $0.mark.html($0.event.rawValue) },
                .text("Answer") { HTML(AnswerText.write($0.status, $0.reason)) },
                .number("Attempt") { $0.attempt.map(String.init) ?? "–" },
                .text("Message") { event in event.messageID.map { .message($0, of: event.app) } ?? HTML("–") }
            ).html
            HTML(.p, .class("note")) {
                "Pushes that APNs accepted are found only in apps with keep_sent."
            }
        }
    }

    private var precision: Amount.Precision { unsearched.isEmpty ? .exact : .atLeast }

    /// What the search may have missed.
    private var more: String? {
        guard !unsearched.isEmpty else { return nil }
        let others = unsearched.count > 3 ? ["\(unsearched.count - 3) more"] : []
        let apps = Counted.list(unsearched.prefix(3) + others)
        if events == nil {
            return
                "There may be more: \(apps) \(unsearched.count == 1 ? "has" : "have") more waiting rows than were searched. "
                + "'carillon message show --reference' reads the whole queue, and the id of a message always finds it."
        }
        return
            "There may be more: \(apps) \(unsearched.count == 1 ? "has" : "have") more waiting jobs, failures or feedback than "
            + "were searched. The reference or the id of a message finds it without its token."
    }

    private var form: HTML {
        HTML(.form, .class("filters"), .action(Link("find")), Attribute(.method, "get"), Attribute(.role, "search")) {
            HTML(.label, .class("wide")) {
                "Reference, message id or device token"
                HTML(
                    .input,
                    Attribute(.type, "search"),
                    Attribute(.name, "q"),
                    Attribute(.value, wanted),
                    Attribute(.autofocus, isOn: wanted.isEmpty),
                    Attribute(.maxlength, 600)
                )
            }
            HTML(.button, Attribute(.type, "submit")) { "Find" }
        }
    }

    private var nothing: HTML {
        HTML(.section, .class("error")) {
            HTML(.h2) { unsearched.isEmpty ? "Nothing was found" : "Nothing was found among the newest rows" }
            HTML(.ul) {
                if wanted.contains("…") {
                    HTML(.li) {
                        "Enter all digits of a device token. Pages show it shortened, as a link to what is known about it."
                    }
                }
                HTML(.li) {
                    "Did the transaction that enqueued it commit? If it rolled back, there never was a message."
                }
                HTML(.li) { "Did enqueue return null? Then it had no tokens, or its dedupe_key was taken." }
                HTML(.li) { "Did it end so long ago that workers have deleted its results (--retention)?" }
                if events != nil {
                    HTML(.li) {
                        "A token that is not registered receives no broadcast. Pushes to it that APNs accepted are not found."
                    }
                }
            }
        }
    }

    var json: JSONValue {
        [
            "q": TokenDisplay.isToken(wanted) ? tokens.text(wanted) : wanted, "messages": messages,
            "messages_precision": precision, "token": events, "token_precision": events == nil ? nil : precision,
            "unsearched": unsearched,
        ]
    }
}

/// Explains the events of a token, for each app that knows it.
private enum TokenStory {
    /// - Parameter events: newest first.
    static func sentences(_ events: [TokenEvent]) -> [String] {
        var apps: [String] = []
        for event in events where !apps.contains(event.app) { apps.append(event.app) }
        return apps.flatMap { app in sentences(of: app, events.filter { $0.app == app }) }
    }

    private static func sentences(of app: String, _ events: [TokenEvent]) -> [String] {
        var sentences: [String] = []
        let registered = events.first { $0.event == .registered }
        let dead = events.first { $0.event == .deadSince }
        switch (registered?.at, dead?.at) {
        case (let registered?, let dead?) where registered < dead:
            sentences.append(
                "\(app): Apple reported it dead after it was last registered; the next feedback pass deletes it."
            )
        case (_?, _): sentences.append("\(app): it is registered, so broadcasts reach it.")
        case (nil, _?):
            sentences.append("\(app): Apple reported it dead, and it is not registered: broadcasts do not reach it.")
        case (nil, nil): sentences.append("\(app): it is not registered, so broadcasts do not reach it.")
        }
        if let failure = events.first(where: { $0.event == .failed }), let reason = failure.reason {
            sentences.append(
                "\(app): the last push to it that failed has the reason \(reason). \(ReasonText.meaning(of: reason))"
            )
        }
        let waiting = events.count { [.ready, .scheduled, .inFlight].contains($0.event) }
        if waiting > 0 {
            let jobs = Counted.text(
                Int64(waiting),
                "job that waits or is in flight contains",
                "jobs that wait or are in flight contain"
            )
            sentences.append("\(app): \(jobs) it.")
        }
        return sentences
    }
}

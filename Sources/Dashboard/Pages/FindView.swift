import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows what was found, and what it means for somebody who did not get a push.
struct FindView: PageView {
    let wanted: String
    let messages: [FoundMessage]
    /// The events of the device token; nil if the search was not for a token.
    let events: [TokenEvent]?
    let tokens: TokenDisplay

    var title: String { "Find a push" }
    var section: PageSection { .find }
    var refreshInterval: Int? { nil }

    private var isNothing: Bool { messages.isEmpty && (events ?? []).isEmpty }

    @HTMLBuilder var content: HTML {
        form
        if wanted.isEmpty {
            HTML(.p, .class("note")) {
                "Give your own reference, the id that enqueue or broadcast returned, or a device token. What waits is found among the "
                    + "newest rows of each app; what has ended, for as long as workers keep it (--retention)."
            }
        } else if isNothing {
            nothing
        }
        if !messages.isEmpty {
            DataTable(
                "Messages",
                messages,
                .text("Message") { message in HTML(.a, .href(message.link)) { String(message.id) } },
                .text("App") { HTML($0.app ?? "an app that is gone") },
                .text("State") { message in message.state.map { StateMark.ofMessage($0).html($0) } ?? HTML("–") },
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
                "What is known of it",
                events,
                .text("When") { $0.at?.html ?? HTML("–") },
                .text("App") { event in HTML(.a, .href(Link("apps", event.app))) { event.app } },
                .text("What") { $0.mark.html($0.event) },
                .text("Answer") { event in
                    HTML([event.status.map(String.init), event.reason].compactMap { $0 }.joined(separator: " "))
                },
                .number("Attempt") { $0.attempt.map(String.init) ?? "–" },
                .text("Message") { event in
                    guard let id = event.messageID else { return HTML("–") }
                    return HTML(.a, .href(Link("messages", String(id), query: ["app": event.app]))) { String(id) }
                }
            ).html
            HTML(.p, .class("note")) {
                "A push that APNs accepted leaves no trace of its token. Failures, feedback and waiting jobs are looked for among at "
                    + "most the newest 2,000 of each app."
            }
        }
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
            HTML(.h2) { "Nothing is known of this" }
            HTML(.ul) {
                if wanted.contains("…") {
                    HTML(.li) {
                        "A device token is found by all its digits only. Pages show it shortened, as a link to what is known of it."
                    }
                }
                HTML(.li) {
                    "Was the transaction that enqueued it committed? If it rolled back, there never was a message."
                }
                HTML(.li) { "Did enqueue return null? Then it had no tokens, or its dedupe_key was taken." }
                HTML(.li) { "Did it end longer ago than workers keep results (--retention)?" }
                if events != nil {
                    HTML(.li) {
                        "A token that is not registered receives no broadcast. A push to it that APNs accepted leaves no trace here."
                    }
                }
            }
        }
    }

    var json: JSONValue {
        ["q": TokenDisplay.isToken(wanted) ? tokens.text(wanted) : wanted, "messages": messages, "token": events]
    }
}

import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows in the order of time what is known of a person, a device token, a reference or a message.
struct TraceView: PageView {
    /// The most events that the page shows.
    static let maxRows = 100

    let query: TraceQuery
    let matches: [TraceMatch]
    /// Whether there are matches that were not read.
    let isCut: Bool
    /// The apps of which there is more than was searched.
    let unsearched: [String]

    var title: String { "Trace" }
    var section: PageSection { .trace }

    private var tokens: TokenDisplay { query.tokens }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        form
        if query.wanted.isEmpty {
            HTML(.p, .class("note")) {
                "Enter the owner of device tokens, a device token, your own reference, or the id that enqueue or broadcast "
                    + "returned. The page shows what is known of it, as 'carillon trace' does."
            }
        } else if matches.isEmpty {
            nothing
        }
        if let more { HTML(.p, .class("notice")) { more } }
        let traced = matches.filter { $0.records != nil }
        for match in traced { trace(match, upTo: Self.maxRows / traced.count) }
        others
    }

    @HTMLBuilder private func trace(_ match: TraceMatch, upTo maxRows: Int) -> HTML {
        let records = match.records ?? []
        let events = records.filter { !$0.isLimit }
        HTML(.h2) { match.name(tokens) }
        let shown = min(events.count, maxRows)
        if shown < match.events {
            HTML(.p, .class("note")) {
                "The newest \(shown) of \(match.events.grouped) events. 'carillon trace' shows all of them."
            }
        }
        HTML.timeline(events.suffix(shown) + records.filter(\.isLimit)) { record in
            let time = record.at?.html ?? HTML(record.isLimit ? "not known" : "time not recorded")
            return (record.mark, time, sentence(record, of: match))
        }
        if !records.explanations.isEmpty {
            HTML(.ul, .class("story")) { for explanation in records.explanations { HTML(.li) { explanation } } }
        }
    }

    /// What the viewer has named is not repeated, but a message is the link to its page.
    @HTMLBuilder private func sentence(_ record: TraceRecord, of match: TraceMatch) -> HTML {
        record.what.asSentence
        HTML(.span, .class("note")) {
            if let id = record.messageID, !record.isLimit {
                " "
                HTML(.a, .href(.message(id, of: match.app))) { "message \(id)" }
            }
            if match.subject.kind != .token, let token = record.token {
                " "
                tokens.html(token)
            }
        }
    }

    /// What was found and not traced.
    @HTMLBuilder private var others: HTML {
        let others = matches.filter { $0.records == nil }
        if !others.isEmpty {
            HTML(.h2) { "Also found" }
            HTML(.ul) {
                for match in others {
                    HTML(.li) {
                        if let link = match.link(tokens) {
                            HTML(.a, .href(link)) { match.name(tokens) }
                        } else {
                            match.name(tokens)
                        }
                    }
                }
            }
        }
    }

    /// What the search may have missed.
    private var more: String? {
        guard !unsearched.isEmpty else { return nil }
        let others = unsearched.count > 3 ? ["\(unsearched.count - 3) more"] : []
        let apps = Counted.list(unsearched.prefix(3) + others)
        return
            "There may be more: \(apps) \(unsearched.count == 1 ? "has" : "have") more waiting jobs, failures or reports than "
            + "were searched. An owner, and the id of a message, are always found. If you enter the app and what the text is, "
            + "that app is searched further."
    }

    private var form: HTML {
        HTML(.form, .class("filters"), .action(Link("trace")), Attribute(.method, "get"), Attribute(.role, "search")) {
            HTML(.label, .class("wide")) {
                "Owner, device token, reference or message id"
                HTML(
                    .input,
                    Attribute(.type, "search"),
                    Attribute(.name, "q"),
                    Attribute(.value, query.wanted),
                    Attribute(.autofocus, isOn: query.wanted.isEmpty),
                    Attribute(.maxlength, 600)
                )
            }
            ActionForm.choice(
                "What it is",
                "by",
                [("", "any of these")] + TraceSubject.Kind.allCases.map { ($0.rawValue, $0.text) },
                chosen: query.kind?.rawValue
            )
            ActionForm.field("App", "app", value: query.app)
            ActionForm.choice(
                "Within",
                "since",
                [("", "all that is kept")] + FailureWindow.allCases.map { ($0.rawValue, $0.text) },
                chosen: query.window?.rawValue
            )
            HTML(.button, Attribute(.type, "submit")) { "Trace" }
        }
    }

    private var nothing: HTML {
        HTML(.section, .class("error")) {
            HTML(.h2) { unsearched.isEmpty ? "Nothing was found" : "Nothing was found among the newest rows" }
            HTML(.ul) {
                if query.wanted.contains("…") {
                    HTML(.li) {
                        "Enter all digits of a device token. Pages show it shortened, as a link to what is known about it."
                    }
                }
                HTML(.li) {
                    "Did the transaction that enqueued it commit? If it rolled back, there never was a message."
                }
                HTML(.li) { "Did enqueue return null? Then it had no tokens, or its dedupe_key was taken." }
                HTML(.li) { "Did it end so long ago that workers have deleted its results (--retention)?" }
                HTML(.li) {
                    "An owner without a registered device token, and a token that is not registered, receive no broadcast."
                }
            }
        }
    }

    var json: JSONValue {
        [
            "q": tokens.text(query.wanted), "app": query.app, "by": query.kind?.rawValue,
            "since": query.window?.rawValue, "found": matches.map { $0.json(tokens) },
            "found_precision": Amount.Precision(isCut: isCut || !unsearched.isEmpty), "unsearched": unsearched,
        ]
    }
}

extension TraceRecord {
    /// Events that are not listed are quiet.
    static let marks: [String: StateMark] = [
        "sent": .good, "registered": .good, "in broadcasts": .good, "failed": .bad, "expired": .bad,
        "dead since": .bad, "reported dead": .bad, "to be deleted": .bad, "left out": .bad, "not registered": .bad,
        "not found": .bad, "waiting": .attention, "scheduled": .attention, "retrying": .attention,
        "in flight": .attention, "no answer": .attention,
    ]

    fileprivate var mark: StateMark { Self.marks[event] ?? .quiet }
}

import CarillonSchema
import CarillonText
import CarillonWeb

extension Finding {
    /// The page with details.
    var link: Link {
        switch subject {
        case .apps: PageSection.apps.link
        case .app(let name): .app(name)
        case .failures(let app): Link("failures", query: ["app": app])
        case .webhook(let name): .webhook(name)
        case .credentials: PageSection.credentials.link
        case .workers, .maintenance: PageSection.workers.link
        }
    }

    var json: JSONValue {
        ["severity": severity.rawValue, "sentence": sentence, "remedy": remedy, "see": link.text]
    }
}

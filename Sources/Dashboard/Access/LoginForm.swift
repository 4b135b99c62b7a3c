import CarillonText
import CarillonWeb

/// What the login form sends. Anybody may send it, so reading it takes time that grows with its bytes.
struct LoginForm {
    let password: String?
    /// For the record of changes.
    let name: String?
    /// The page to show after the login.
    let next: Link

    init(_ body: [UInt8]) {
        let fields = FormFields.read(body) ?? []
        func value(of field: String) -> String? { fields.first { $0.name == field }?.value }
        password = value(of: "password")
        let entered = value(of: "name")?.trimmed.prefix(60) ?? ""
        name = entered.isEmpty ? nil : String(entered)
        next = Self.page(value(of: "next"))
    }

    /// The page at an address that a browser has sent, or the first page.
    static func page(_ address: String?) -> Link { address.flatMap { Link(sent: $0) } ?? Link.top() }
}

extension Gateway {
    /// The header `:authority`; the port of https goes without saying.
    var authority: String { port == 443 ? String(description.dropLast(4)) : description }
}

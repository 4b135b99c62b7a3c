extension Gateway {
    /// The header `:authority`; the port of https goes without saying.
    var authority: String { self.port == 443 ? String(self.description.dropLast(4)) : self.description }
}

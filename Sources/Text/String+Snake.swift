extension String {
    /// `lease_lost` for `leaseLost`, and `gateway_ca` for `gatewayCA`: one underscore before a run of capitals.
    package var snakeCase: String {
        var name = ""
        var wasCapital = true
        for letter in self {
            if letter.isUppercase && !wasCapital { name += "_" }
            name += letter.lowercased()
            wasCapital = letter.isUppercase
        }
        return name
    }
}

/// Environment variables that begin with `CARILLON_` and name no option: most likely a typing error.
enum StrangeVariables {
    static func sentences(in environment: [String: String]) -> [String] {
        let known = Option.all.flatMap { option in
            option.secrecy == .open ? [option.variable] : [option.variable, option.variable + "_FILE"]
        }
        return environment.keys.filter { $0.hasPrefix("CARILLON_") && !known.contains($0) }.sorted().map { name in
            let nearest = Suggestion.nearest(to: name, among: known).map { " Did you mean \($0)?" } ?? ""
            return "The variable \(name) sets nothing.\(nearest)"
        }
    }
}

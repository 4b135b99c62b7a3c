extension Command {
    /// The database roles that may run the command; any one of them suffices. Empty if only the owner of the schema may.
    /// docs/rights.md has the same table.
    var roles: [String] {
        switch words.joined(separator: " ") {
        case "send", "broadcast", "message cancel", "tokens import", "failures requeue", "channel create",
            "channel remove":
            ["carillon_app"]
        case "message show", "failures list", "channel list": ["carillon_app", "carillon_reader"]
        case "status": ["carillon_reader", "carillon_worker"]
        case "web": ["carillon_reader"]
        case "migrate status": ["carillon_app", "carillon_reader", "carillon_operator", "carillon_worker"]
        case "worker", "check", "feedback", "credential list", "credential check", "app list", "app show", "app pause",
            "app resume", "channel read", "channel sync":
            ["carillon_worker"]
        default: []
        }
    }

    /// What the user lacks when PostgreSQL denies the command.
    var missingRole: String {
        guard let role = roles.first else {
            return "'\(title)' is for the owner of the schema carillon: connect as that role."
        }
        return "'\(title)' requires the role \(roles.joined(separator: " or ")): have a superuser, or the schema's "
            + "owner with the admin option, run GRANT \(role) TO this user."
    }
}

@testable import CarillonPushQueue

extension TestDatabase {
    /// A call of `carillon.settle`. Arrays that are not given are empty.
    package static func settle(_ arguments: [String: String]) -> String {
        settle(expressions: arguments.mapValues { "'\($0)'" })
    }

    /// The same, with SQL for the arguments.
    package static func settle(expressions: [String: String]) -> String {
        let usual = ["app": "1", "worker": "1", "settlement_number": "0"]
        let all = Dictionary(uniqueKeysWithValues: SettleArguments.all.map { ($0.name, "'\(usual[$0.name] ?? "{}")'") })
        let list = all.merging(expressions) { $1 }.map { "\($0) => \($1)" }
        return "SELECT carillon.settle(\(list.joined(separator: ", ")))"
    }
}

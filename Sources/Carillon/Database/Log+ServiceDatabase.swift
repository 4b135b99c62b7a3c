import CarillonPostgres

extension Log {
    func tell(_ event: ServiceDatabase.Event) {
        switch event {
        case .lost(let cause):
            error("The database cannot be reached; requests fail until it is back.", ["error": "\(cause)"])
        case .back: info("The database is back.")
        }
    }
}

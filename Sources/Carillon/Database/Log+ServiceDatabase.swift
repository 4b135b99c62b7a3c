import CarillonPostgres

extension Log {
    /// Logs an event of the database of a service.
    func tell(_ event: ServiceDatabase.Event) {
        switch event {
        case .lost(let cause):
            error("The database cannot be reached; requests fail until it is back.", ["error": "\(cause)"])
        case .back: info("The database is back.")
        }
    }
}

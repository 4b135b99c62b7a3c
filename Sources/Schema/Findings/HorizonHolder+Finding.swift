import CarillonText

extension HorizonHolder {
    package var finding: Finding? {
        guard isLong else { return nil }
        return Finding(
            .maintenance,
            .warning,
            "Vacuum cannot remove what the last \(Counted.text(transactions, "transaction")) deleted: "
                + "\(what) has prevented it\(seconds.map { " for \(DurationText.age($0))" } ?? "").",
            remedy:
                "End it with SELECT pg_terminate_backend(PID), ROLLBACK PREPARED or pg_drop_replication_slot(). To prevent it, "
                + "set idle_in_transaction_session_timeout."
        )
    }
}

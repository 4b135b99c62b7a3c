/// The random faults of a soak. Each ends before the next one.
enum SoakFault: String, CaseIterable {
    // Connections to the gateway.
    case connectionsReset
    case connectionsClosed
    case answersCut
    case requestsCut
    case blackHole
    case lateness

    // The gateway.
    case gatewayAway
    case gatewayRestarted
    case tokensDead
    case tokensBusy
    case certificateReplaced

    // Workers and their database.
    case sessionsEnded
    case workerKilled
    case workerStopped
    case workerFrozen
}

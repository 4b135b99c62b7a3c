import Postgres

extension Settlement {
    /// The arguments of the function `carillon.settle`, by name.
    struct Arguments {
        /// In the order in which they are appended.
        enum Name: String, CaseIterable {
            case app, claim, worker, claimed
            case partNumber = "part_number"
            case ended
            case endedReference = "ended_reference"
            case endedBroadcast = "ended_broadcast"
            case endedSent = "ended_sent"
            case endedFailed = "ended_failed"
            case endedExpired = "ended_expired"
            case endedAttempts = "ended_attempts"
            case part
            case partReference = "part_reference"
            case partBroadcast = "part_broadcast"
            case partReturned = "part_returned"
            case partSent = "part_sent"
            case partFailed = "part_failed"
            case partExpired = "part_expired"
            case partAttempts = "part_attempts"
            case failed
            case failedReference = "failed_reference"
            case failedToken = "failed_token"
            case failedStatus = "failed_status"
            case failedReason = "failed_reason"
            case failedUnregisteredAt = "failed_unregistered_at"
            case failedID = "failed_apns_id"
            case failedAttempt = "failed_attempt"
            case dead
            case deadSince = "dead_since"
            case deadReason = "dead_reason"
            case again
            case againWhole = "again_whole"
            case againAttempt = "again_attempt"
            case againAfter = "again_after"
            case againPlace = "again_place"
            case againToken = "again_token"
            case kept
            case keptWhole = "kept_whole"
            case keptPlace = "kept_place"
            case keptToken = "kept_token"
            case againStatus = "again_status"
            case againReason = "again_reason"
            case unanswered
            case endedStatus = "ended_status"
            case endedReason = "ended_reason"
            case partStatus = "part_status"
            case partReason = "part_reason"
        }

        private(set) var parameters: Parameters

        /// Each name with its parameter: `app => $1, claim => $2, …`.
        static let list = Name.allCases.enumerated().map { "\($1.rawValue) => $\($0 + 1)" }.joined(separator: ", ")

        init(capacity: Int) {
            parameters = Parameters(capacity: capacity)
        }

        mutating func append(_ name: Name, _ column: PostgresArray) {
            append(name) { $0.append(column) }
        }

        mutating func append(_ name: Name, _ append: (inout Parameters) -> Void) {
            append(&parameters)
            assert(Name.allCases[parameters.count - 1] == name, "\(name) is not argument \(parameters.count)")
        }
    }
}

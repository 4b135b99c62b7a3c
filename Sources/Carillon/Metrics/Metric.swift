import ApplePush

/// The metrics: all are named and explained here.
enum Metric: String, CaseIterable {
    case buildInfo = "carillon_build_info"
    case connections = "carillon_connections"
    case connectionEnds = "carillon_connection_ends_total"
    case lateAnswers = "carillon_late_answers_total"
    case sendToAnswer = "carillon_send_to_answer_seconds"
    case logLinesLost = "carillon_log_lines_lost_total"
    case pushes = "carillon_pushes_total"
    case retries = "carillon_retries_total"
    case returned = "carillon_returned_total"
    case unknownOutcomes = "carillon_unknown_outcomes_total"
    case enqueueToClaim = "carillon_enqueue_to_claim_seconds"
    case claims = "carillon_claims_total"
    case jobs = "carillon_jobs_total"
    case staleResults = "carillon_stale_results_total"
    case unrecordedJobs = "carillon_unrecorded_jobs_total"
    case takeovers = "carillon_takeovers_total"
    case databaseErrors = "carillon_database_errors_total"
    case reapedTokens = "carillon_reaped_tokens_total"
    case feedbackHandled = "carillon_feedback_handled_total"
    case feedbackPass = "carillon_feedback_pass_seconds"
    case feedbackPassErrors = "carillon_feedback_pass_errors_total"
    case breakersOpened = "carillon_breakers_opened_total"
    case inFlightPushes = "carillon_in_flight_pushes"
    case databaseUp = "carillon_database_up"
    case appHeld = "carillon_app_held"
    case queueJobs = "carillon_queue_jobs"
    case scheduledJobs = "carillon_scheduled_jobs"
    case queueOldestAge = "carillon_queue_oldest_age_seconds"
    case credentialExpiry = "carillon_credential_expiry_seconds"
    case defaultPartitionRows = "carillon_default_partition_rows"
    case maintenanceAge = "carillon_maintenance_age_seconds"
    case maintenanceFailing = "carillon_maintenance_failing"

    var kind: MetricsText.Kind {
        switch self {
        case .sendToAnswer, .enqueueToClaim, .feedbackPass: .histogram
        default: rawValue.hasSuffix("_total") ? .counter : .gauge
        }
    }

    var help: String {
        switch self {
        case .buildInfo: "The program's version; always 1."
        case .connections: "Open connections to gateways."
        case .connectionEnds: "Connections to gateways that ended or could not be opened, by cause."
        case .lateAnswers: "Pushes abandoned after --request-timeout."
        case .sendToAnswer: "Time from a request to its answer, whatever the answer."
        case .logLinesLost:
            "Log lines that could not be written, or were dropped because the reader was too slow."
        case .pushes: "Pushes that ended, by status and reason; status 0 if the gateway did not answer."
        case .retries:
            "Attempts that led to a retry, by status and reason; status 0 if the gateway did not answer."
        case .returned: "Pushes returned to the queue without counting as an attempt."
        case .unknownOutcomes: "Attempts whose outcome is unknown."
        case .enqueueToClaim: "Time from enqueueing a job to its first claim, by the database's clock."
        case .claims: "Claims that were not empty."
        case .jobs: "Jobs claimed."
        case .staleResults: "Settlements of claims that another worker had taken over."
        case .unrecordedJobs: "Jobs whose outcome PostgreSQL refused to record."
        case .takeovers: "Claims taken over from dead workers."
        case .databaseErrors: "Statements and connections that failed."
        case .reapedTokens: "Tokens deleted by this worker's feedback passes, in any table."
        case .feedbackHandled: "Rows of feedback handled by this worker's feedback passes."
        case .feedbackPass: "Duration of this worker's feedback passes, including pauses."
        case .feedbackPassErrors: "Errors of feedback passes in watched tables."
        case .breakersOpened:
            "Times that this worker paused an app because most of its pushes failed as BadDeviceToken or because of their topic."
        case .inFlightPushes: "Pushes claimed by this worker and not settled yet."
        case .databaseUp: "1 if the worker's database is connected and answers."
        case .appHeld: "1 for each app that cannot send now, by the kind of hold."
        case .queueJobs: "Jobs waiting to be claimed, by app; an estimate when there are many."
        case .scheduledJobs: "Jobs scheduled for later, by app."
        case .queueOldestAge: "Seconds that the oldest due job has waited."
        case .credentialExpiry: "Seconds until the app's certificate expires."
        case .defaultPartitionRows:
            "Rows in default partitions, because no partition existed for their day; an estimate when there are many."
        case .maintenanceAge: "Seconds since the maintenance step last succeeded."
        case .maintenanceFailing:
            "1 if the maintenance step failed when it last ran; the view carillon.maintenance shows why."
        }
    }
}

extension MetricsText {
    mutating func begin(_ metric: Metric) { begin(metric.rawValue, metric.kind, metric.help) }

    mutating func add(_ metric: Metric, _ value: some BinaryInteger) {
        begin(metric)
        add(value)
    }

    mutating func add(_ metric: Metric, _ durations: DurationHistogram) {
        begin(metric)
        add(durations)
    }
}

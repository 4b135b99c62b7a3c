import CarillonCPostgres

/// The kinds of result that the pipeline distinguishes.
enum ResultKind {
    case good
    case bad
    /// Not run, because an earlier statement of the same transaction failed.
    case skipped
    case synchronized
    /// The server is waiting for the input of a `COPY`.
    case input
    /// The server wants to send the output of a `COPY`.
    case output

    init(_ result: ServerResult) {
        self =
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: .good
            case PGRES_PIPELINE_SYNC: .synchronized
            case PGRES_PIPELINE_ABORTED: .skipped
            case PGRES_COPY_IN: .input
            case PGRES_COPY_OUT, PGRES_COPY_BOTH: .output
            default: .bad
            }
    }
}

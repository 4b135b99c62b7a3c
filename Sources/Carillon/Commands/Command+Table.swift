extension Command {
    /// The table of commands, in the order that help lists them.
    static let all: [Command] = [
        demo, tryOut, worker,
        migrateUp, migrateDown, migrateStatus, migrateSQL,
        credentialImport, credentialList, credentialCheck, credentialRemove,
        appAdd, appList, appShow, appSet, appPause, appResume, appRemove,
        send, broadcast, messageShow, messageCancel, tokensImport, failuresList, failuresRequeue, feedback, status,
        check, simulator,
        healthcheck, version, help,
    ]
}

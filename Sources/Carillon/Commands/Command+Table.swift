extension Command {
    /// All commands, in the order of the help.
    static let all: [Command] = [
        demo, tryOut, worker,
        migrateUp, migrateDown, migrateStatus, migrateSQL, adopt,
        credentialImport, credentialList, credentialCheck, credentialRemove,
        appAdd, appList, appShow, appSet, appPause, appResume, appMove, appRemove,
        apiTokenCreate, apiTokenList, apiTokenRemove,
        send, broadcast, channelCreate, channelList, channelRead, channelRemove, channelSync, messageShow,
        messageCancel, trace, forget,
        webhookAdd, webhookList, webhookShow, webhookPause, webhookResume, webhookRedeliver, webhookRotateSecret,
        webhookRemove, metricsFetch, metricsImport, metricsShow, metricsSetToken, metricsRemoveToken, tokensImport,
        failuresList, failuresRequeue, feedback, status,
        check, simulator, web, pyapns,
        healthcheck, completions, man, version, help,
    ]
}

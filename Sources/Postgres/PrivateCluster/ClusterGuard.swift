/// The few lines of `sh` between us and a private cluster. They make its folder, prepare its data, run its server as
/// their child, and wait for a word from us; when we are gone without one, as after `kill -9`, they stop the server and
/// remove the folder.
///
/// They run as the unprivileged user, in a session of their own, so an interrupt typed at our terminal leaves them be.
enum ClusterGuard {
    /// Files that the guard leaves in the folder for us.
    static let log = "server.log"
    static let preparationLog = "initdb.log"
    /// The guard's own number, for those who want to see it end.
    static let processID = "guard.pid"
    /// The server's number.
    static let server = "server.pid"
    /// There when the server, or the preparation before it, has ended.
    static let ended = "ended"

    /// Arguments: the folder, the data's folder, initdb, its options in one word, then the server's command line.
    /// Standard input: a line with the password, then a line with a signal and "keep" or "remove".
    ///
    /// `stop` and `server` cross: either the guard sees the server's number, or the server's side sees that it has to
    /// stop.
    static let script = """
        folder=$1 data=$2 initdb=$3 options=$4
        shift 4
        umask 077
        mkdir -- "$folder" 2>/dev/null || [ -e "$folder/\(processID)" ] || exit 73
        cd -- "$folder" && exec 3<&0 </dev/null >>\(log) 2>&1 || exit 73
        echo "$$" >\(processID)
        IFS= read -r password <&3
        (
            exec 3<&-
            if [ ! -e "$data/PG_VERSION" ]; then
                printf '%s\\n' "$password" >password
                "$initdb" --pgdata="$data" --pwfile=password $options >\(preparationLog) 2>&1
                status=$?
                rm -f password
                [ "$status" = 0 ] || { echo "$status" >\(ended); exit; }
            fi
            [ ! -e stop ] || exit
            "$@" &
            echo "$!" >\(server)
            [ ! -e stop ] || kill -s QUIT "$!"
            wait "$!"
            echo "$?" >\(ended)
        ) &
        read -r signal fate <&3 || { signal=QUIT; fate=remove; }
        : >stop
        [ -e \(server) ] && [ ! -e \(ended) ] && kill -s "$signal" "$(cat \(server))"
        wait "$!"
        rm -f stop \(server) \(ended)
        [ "$fate" = keep ] || { cd / && rm -rf -- "$folder"; }
        """
}

/// A shell script between this program and a private cluster. It creates the folder, prepares the data, runs the server as its
/// child and waits for a command. If this program ends without sending one, as after `kill -9`, the script stops the server and
/// removes the folder.
///
/// It runs as the unprivileged user, in its own session, so that an interrupt typed at our terminal does not reach it.
enum ClusterGuard {
    /// Files that the guard writes in the folder.
    static let log = "server.log"
    static let preparationLog = "initdb.log"
    static let processID = "guard.pid"
    /// The server's process ID.
    static let server = "server.pid"
    /// Exists when the server, or the preparation before it, has ended.
    static let ended = "ended"

    /// Arguments: the folder, the data's folder, initdb, its options in one word, then the server's command line.
    /// Standard input: a line with the password, then a line with a signal and "keep" or "remove".
    ///
    /// Each side writes its file, `stop` or `server`, before it looks for the other's, so at least one of them sees the other's
    /// file and stops the server.
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

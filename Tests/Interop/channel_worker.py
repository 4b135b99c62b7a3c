"""A worker of Carillon's with the service of channel_gateway.py: channels are made, published to and removed, and every refusal
is understood. Prints a line for each case, like the others."""

import json
import subprocess
import sys
import time

NAME = "worker with channels in Python"


def tell(case, wrong=None):
    print("FAILED" if wrong else "ok", NAME, case, wrong or "", sep="\t", flush=True)


def main(carillon, psql, folder):
    def run(*words, status=0):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != status:
            raise RuntimeError("%s: %d %s" % (words[1:4], done.returncode, done.stderr))
        return done.stdout.strip()

    def sql(text):
        return run(psql, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", text)

    server = subprocess.Popen(
        [sys.executable, "Tests/Interop/channel_gateway.py", folder + "/server.pem"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    gateway = "localhost:" + server.stdout.readline().strip()
    with open(folder + "/AuthKey.p8", "w") as key:
        key.write(run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256") + "\n")
    run(
        carillon, "credential", "import", "live", "--file", folder + "/AuthKey.p8", "--key-id", "LIVE123456",
        "--team-id", "TEAM567890", "--yes",
    )
    run(
        carillon, "app", "add", "live", "--topic", "com.example.live", "--credential", "live", "--gateway", gateway,
        "--channel-gateway", gateway, "--gateway-ca", folder + "/server.pem",
    )
    sql("UPDATE carillon.apps SET paused = true WHERE name <> 'live'")
    worker = subprocess.Popen([carillon, "worker"], stderr=subprocess.DEVNULL)
    try:
        first = run(carillon, "channel", "create", "--app", "live", "match")
        stores = run(carillon, "channel", "create", "--app", "live", "--policy", "1", "final")
        tell("channels are made, whatever characters their ids have", None if first.startswith("+//+") else first)
        said = run(carillon, "channel", "read", "--app", "live", "final")
        tell("a channel is read", None if "the last message" in said and stores in said else said)

        def publish(channel):
            message = sql("SELECT carillon.publish('live', '%s', '{\"score\": 1}')" % channel)
            for _ in range(300):
                row = sql("SELECT sent, failed FROM carillon.results WHERE message_id = %s" % message)
                if row:
                    return row
                time.sleep(0.1)
            return "no result"

        results = [publish("match"), publish("final"), publish(first)]
        tell("updates are accepted", None if results == ["1|0"] * 3 else results)
        run(carillon, "channel", "remove", "--app", "live", "--yes", "match")
        sql("SELECT carillon.record_channel('live', '%s', 0, 'gone')" % first)
        result = publish("gone")
        reason = sql("SELECT status, reason, carillon.token_text(token) FROM carillon.failures WHERE reason LIKE 'Channel%'")
        right = result == "0|1" and reason == "400|ChannelNotRegistered|" + first
        tell("an update of a removed channel fails with the reason", None if right else result + " " + reason)
        said = run(carillon, "channel", "sync", "--app", "live")
        tell("sync tells what Apple does not have", None if "1 channel ready, 1 missing" in said else said)
    finally:
        worker.terminate()
        worker.wait()
    said, _ = server.communicate("")
    seen = json.loads(said)
    tell("what arrives is well-formed", "; ".join(seen["faults"][:3]))
    expiries = [expiry != "0" for _, expiry, _ in seen["broadcasts"]]
    tell("an expiry is sent where messages are stored", None if expiries == [False, True, False] else expiries)


main(*sys.argv[1:])

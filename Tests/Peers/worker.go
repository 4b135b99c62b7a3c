// A worker as one would write it in Go without a library for queues: rows of plain_jobs are claimed by an UPDATE with SKIP LOCKED,
// sent over HTTP/2 by net/http, and marked as sent. A claim ends after 30 seconds, so that those of a killed worker are sent again.
//
// What sent most on two cores: two clients with one connection each, claims of as much as they can send at once, a thousand rows
// marked as sent together, and a garbage collector that waits longer (GOGC=400).
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

const (
	connections = 2
	streams     = 1000 // of a connection, as Apple allows
	claiming    = `UPDATE plain_jobs SET claimed_until = now() + interval '30 s' WHERE id IN (
		SELECT id FROM plain_jobs WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until < now())
		ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id, array_to_string(tokens, ' '), payload`
	settling = "UPDATE plain_jobs SET sent_at = now() WHERE id = ANY ($1)"
)

type job struct {
	id      int64
	tokens  []string
	payload []byte
	unsent  atomic.Int32
	hasLost atomic.Bool // a push got no answer of 200: the job is claimed again when its claim ends
}

type push struct {
	job   *job
	token string
}

func main() {
	if len(os.Args) > 1 {
		fmt.Println(runtime.Version())
		return
	}
	debug.SetGCPercent(400)
	database, err := sql.Open("postgres", "sslmode=disable")
	must(err)
	pushes := make(chan push)
	done := make(chan *job, connections*streams)
	for _, client := range clients() {
		for range streams {
			go func() {
				for one := range pushes {
					if !send(client, one) {
						one.job.hasLost.Store(true)
					}
					if one.job.unsent.Add(-1) == 0 && !one.job.hasLost.Load() {
						done <- one.job
					}
				}
			}()
		}
	}
	go settle(database, done)

	listener := pq.NewListener("sslmode=disable", time.Second, time.Minute, nil)
	must(listener.Listen("plain_jobs"))
	claim, err := database.Prepare(claiming)
	must(err)
	rows := 4
	for {
		jobs, count := claimed(claim, rows), 0
		for _, one := range jobs {
			count += len(one.tokens)
			for _, token := range one.tokens {
				pushes <- push{one, token}
			}
		}
		if len(jobs) > 0 {
			rows = max(1, connections*streams*len(jobs)/count)
			continue
		}
		select { // a notification, or a look each second, which finds what others have left
		case <-listener.Notify:
		case <-time.After(time.Second):
		}
	}
}

func claimed(claim *sql.Stmt, limit int) (jobs []*job) {
	found, err := claim.Query(limit)
	must(err)
	for found.Next() {
		one, tokens := &job{}, ""
		must(found.Scan(&one.id, &tokens, &one.payload))
		one.tokens = strings.Fields(tokens)
		one.unsent.Store(int32(len(one.tokens)))
		jobs = append(jobs, one)
	}
	must(found.Err())
	return jobs
}

// Writes what has been sent in batches: a thousand jobs, or those of ten milliseconds.
func settle(database *sql.DB, done chan *job) {
	update, err := database.Prepare(settling)
	must(err)
	for first := range done {
		ids := []int64{first.id}
		end := time.After(10 * time.Millisecond)
	gathering:
		for len(ids) < 1000 {
			select {
			case one := <-done:
				ids = append(ids, one.id)
			case <-end:
				break gathering
			}
		}
		_, err := update.Exec(pq.Array(ids))
		must(err)
	}
}

// Clients with one connection each, which is open before the first push.
func clients() []*http.Client {
	certificate, err := os.ReadFile(os.Getenv("PEERS_CERTIFICATE"))
	must(err)
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(certificate)
	var made []*http.Client
	var opening sync.WaitGroup
	for range connections {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1, DisableCompression: true,
		}}
		made = append(made, client)
		opening.Go(func() {
			answer, err := client.Get(gateway + "/")
			must(err)
			answer.Body.Close()
		})
	}
	opening.Wait()
	return made
}

var gateway = "https://localhost:" + os.Getenv("PEERS_PORT")
var fixed = http.Header{
	"Authorization": {os.Getenv("PEERS_AUTHORIZATION")}, "Apns-Topic": {os.Getenv("PEERS_TOPIC")},
	"Apns-Push-Type": {"alert"}, "Apns-Priority": {"10"},
}

func send(client *http.Client, one push) bool {
	request, err := http.NewRequest("POST", gateway+"/3/device/"+one.token, bytes.NewReader(one.job.payload))
	must(err)
	for name, values := range fixed {
		request.Header[name] = values
	}
	var id [16]byte
	rand.Read(id[:])
	request.Header["Apns-Id"] = []string{fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])}
	answer, err := client.Do(request)
	if err != nil {
		log.Print(err)
		return false
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer.StatusCode == 200
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

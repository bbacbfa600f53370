// Fetches one URL many times with Colly: collyfetch URL COUNT SLOTS [CA-FILE].
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
)

func main() {
	url := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	slots, _ := strconv.Atoi(os.Args[3])
	transport := &http.Transport{MaxIdleConnsPerHost: slots, ForceAttemptHTTP2: false}
	if len(os.Args) > 4 {
		trusted, err := os.ReadFile(os.Args[4])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(trusted)
		// Sessions are resumed where the server gives tickets, as a browser does.
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(64)}
	}
	var responses atomic.Int64
	collector := colly.NewCollector(colly.AllowURLRevisit(), colly.Async(true), colly.MaxBodySize(0))
	collector.WithTransport(transport)
	if err := collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: slots}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	collector.OnResponse(func(*colly.Response) { responses.Add(1) })
	collector.OnError(func(_ *colly.Response, err error) { fmt.Fprintln(os.Stderr, err) })
	for made := 0; made < count; made++ {
		if err := collector.Visit(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	collector.Wait()
	fmt.Println(responses.Load(), "responses")
}

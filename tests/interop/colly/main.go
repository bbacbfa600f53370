// Crawls the simulated Internet with Colly as people use it: collyfetch SEEDS-FILE, one URL a line.
package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"github.com/gocolly/colly/v2"
)

func main() {
	seeds, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer seeds.Close()
	pages, refused := 0, map[string]bool{}
	visit := func(visit func(string) error, url string) {
		// A certificate is first met when robots.txt is read, so its error comes from here.
		var fault *tls.CertificateVerificationError
		if errors.As(visit(url), &fault) {
			refused[fault.Err.Error()] = true
		}
	}
	collector := colly.NewCollector(colly.UserAgent("collyfetch"))
	// Colly's default is to ignore robots.txt; even with it, Crawl-delay is not read.
	collector.IgnoreRobotsTxt = false
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		visit(element.Request.Visit, element.Attr("href"))
	})
	collector.OnResponse(func(*colly.Response) { pages++ })
	lines := bufio.NewScanner(seeds)
	for lines.Scan() {
		visit(collector.Visit, lines.Text())
	}
	fmt.Println("pages", pages)
	for fault := range refused {
		fmt.Println(fault)
	}
}

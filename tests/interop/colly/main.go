// Crawls the simulated Internet with Colly as people use it: collyfetch SEEDS-FILE, one URL a line.
package main

import (
	"bufio"
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
	pages, failures := 0, map[string]int{}
	collector := colly.NewCollector(colly.UserAgent("collyfetch"))
	// Colly's default is to ignore robots.txt; even with it, Crawl-delay is not read.
	collector.IgnoreRobotsTxt = false
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		_ = element.Request.Visit(element.Attr("href"))
	})
	collector.OnResponse(func(*colly.Response) { pages++ })
	collector.OnError(func(response *colly.Response, err error) {
		if response.StatusCode == 0 {
			failures[err.Error()]++
		}
	})
	lines := bufio.NewScanner(seeds)
	for lines.Scan() {
		_ = collector.Visit(lines.Text())
	}
	fmt.Println("pages", pages, "failures", len(failures))
	for failure := range failures {
		fmt.Println(failure)
	}
}

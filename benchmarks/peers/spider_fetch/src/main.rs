//! Fetches one URL many times with spider's pages: `spider-fetch URL COUNT SLOTS [CA_FILE]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use spider::page::Page;
use spider::reqwest::{Certificate, Client};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("URL is missing")?;
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (count, slots) = (number().ok_or("COUNT is missing")?, number().ok_or("SLOTS is missing")?);
    let mut client = Client::builder().pool_max_idle_per_host(slots);
    if let Some(file) = arguments.next() {
        let text = String::from_utf8(std::fs::read(file)?)?;
        let begin = text.find("-----BEGIN CERTIFICATE").ok_or("no certificate")?;
        client = client.add_root_certificate(Certificate::from_pem(text[begin..].as_bytes())?);
    }
    let (client, next, good) =
        (client.build()?, Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..slots)
        .map(|_| {
            let (url, client, next, good) = (url.clone(), client.clone(), next.clone(), good.clone());
            tokio::spawn(async move {
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    let page = Page::new_page(&url, &client).await;
                    if page.status_code.as_u16() == 200 {
                        good.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    println!("{} responses", good.load(Ordering::Relaxed));
    Ok(())
}

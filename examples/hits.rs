//! Adds up how much each page of a web site was fetched, from a server's log that it makes up itself. With the memory
//! habits of real parsers, for trying heapscope on.
//!
//!     rustc -g -O hits.rs
//!     hits
//!
//! What there is to find: a String for each field of each line, thrown away at once. docs/guide.md finds it.
use std::collections::HashMap;
use std::fmt::Write;

struct Request {
    method: String,
    path: String,
    status: u16,
    bytes: u64,
}

fn field(line: &str, number: usize) -> Option<String> {
    line.split(' ').nth(number).map(String::from)
}

fn parse(line: &str) -> Option<Request> {
    let status = field(line, 3)?.parse().ok()?;
    let bytes = field(line, 4)?.parse().ok()?;
    Some(Request { method: field(line, 1)?, path: field(line, 2)?, status, bytes })
}

fn add_up(log: &str) -> HashMap<String, u64> {
    let mut sent = HashMap::new();
    for request in log.lines().filter_map(parse) {
        if request.method == "GET" && request.status == 200 {
            *sent.entry(request.path).or_insert(0) += request.bytes;
        }
    }
    sent
}

fn make_up(lines: usize) -> String {
    let mut log = String::with_capacity(lines * 48);
    for i in 0..lines {
        let method = if i % 10 == 9 { "POST" } else { "GET" };
        let status = if i % 25 == 24 { 404 } else { 200 };
        let (minute, second) = (i / 60 % 60, i % 60);
        let bytes = 1000 + i % 500;
        writeln!(log, "12:{:02}:{:02} {} /page/{} {} {}", minute, second, method, i % 97, status, bytes).unwrap();
    }
    log
}

fn main() {
    let log = make_up(10_000);
    let sent = add_up(&log);
    println!("{} pages, {} bytes", sent.len(), sent.values().sum::<u64>());
}

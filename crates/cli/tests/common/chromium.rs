//! A headless Chromium, driven over its DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser's process. It ends with this value.
pub struct Chromium {
    process: Child,
    address: String,
    _profile: tempfile::TempDir,
}

/// One tab.
pub struct Tab {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    sent: u64,
    /// What the browser reported that was no answer.
    pub events: Vec<Value>,
}

impl Chromium {
    /// Starts the browser, if there is one.
    pub fn start(what: &str) -> Option<Self> {
        let names = std::env::var("DZOA_CHROMIUM").into_iter();
        let names =
            names.chain(["chromium", "chromium-browser", "google-chrome"].map(String::from));
        let profile = tempfile::tempdir().unwrap();
        let started = names.into_iter().find_map(|name| {
            Command::new(name)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
                .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
                .args(["--disable-component-update", "--remote-debugging-port=0"])
                .arg(format!("--user-data-dir={}", profile.path().display()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .ok()
        });
        let Some(mut process) = started else {
            crate::common::skip(what, "no Chromium (install it, or name it in DZOA_CHROMIUM)");
            return None;
        };
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.ok()?.strip_prefix("DevTools listening on ")?.to_string()))
            .expect("Chromium says where it listens");
        // It goes on writing; a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { process, address, _profile: profile })
    }

    /// An empty tab of this size, with everything reported that the tests look at.
    pub fn tab(&self, width: u32, height: u32) -> Tab {
        let (socket, _) = tungstenite::connect(&self.address).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut tab = Tab { socket, session: String::new(), sent: 0, events: Vec::new() };
        let target = tab.call("Target.createTarget", json!({ "url": "about:blank" }));
        let id = &target["targetId"];
        let attached =
            tab.call("Target.attachToTarget", json!({ "targetId": id, "flatten": true }));
        tab.session = attached["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.resize(width, height);
        tab
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Tab {
    /// Calls a method of the protocol and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("Chromium answers in time") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Opens a file, waits until it is loaded, and says how long that took.
    pub fn open(&mut self, file: &Path) -> Duration {
        self.events.clear();
        let started = Instant::now();
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
        let took = started.elapsed();
        self.settle();
        took
    }

    /// Waits for two frames: what was asked for has been drawn then.
    pub fn settle(&mut self) {
        self.eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))");
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The size of the window.
    pub fn resize(&mut self, width: u32, height: u32) {
        let phone = width < 500;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Light or dark, screen or print.
    pub fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
        self.settle();
    }

    /// Moves the mouse.
    pub fn hover(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y, "none");
        self.settle();
    }

    /// One mouse event.
    pub fn mouse(&mut self, kind: &str, x: f64, y: f64, button: &str) {
        let clicks = i32::from(kind != "mouseMoved");
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": clicks });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// A picture of a part of the page: left, top, width, height.
    pub fn screenshot(&mut self, out: &Path, [x, y, width, height]: [f64; 4]) {
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        let params = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", params);
        let bytes = data_encoding::BASE64.decode(answer["data"].as_str().unwrap().as_bytes());
        std::fs::write(out, bytes.unwrap()).unwrap();
    }

    /// The page on paper.
    pub fn pdf(&mut self) -> Vec<u8> {
        let answer = self.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        data_encoding::BASE64.decode(answer["data"].as_str().unwrap().as_bytes()).unwrap()
    }

    /// Errors and warnings of the page, and exceptions.
    pub fn complaints(&self) -> Vec<&Value> {
        let bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            // The tests themselves read pixels, more often than the browser likes.
            Some("Log.entryAdded") => !event.to_string().contains("getImageData"),
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            _ => false,
        };
        self.events.iter().filter(bad).collect()
    }

    /// What the page asked for, itself included.
    pub fn requests(&self) -> Vec<&str> {
        let asked = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        self.events
            .iter()
            .filter(asked)
            .filter_map(|event| event.pointer("/params/request/url")?.as_str())
            .collect()
    }
}

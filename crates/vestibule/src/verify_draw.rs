//! `vestibule verify-draw`: checks a draw by what the line document published, without access to the deployment.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use clap::Args;
use http::Request;
use serde::Deserialize;
use vestibule_core::settings::{Beacon, DRAND_RELAY, beacon_randomness};
use vestibule_core::{Draw, DrawNumber, DrawTerms, Hex32, Micros, SessionId, Timestamp, VisitorCode};
use vestibule_http_client::{HttpClient, Options};

#[derive(Args)]
pub(crate) struct VerifyDrawOptions {
    /// Line document after the draw: a file, or the address of /_vestibule/line?queue=..
    #[arg(value_name = "DOCUMENT")]
    pub(crate) document: String,

    /// Line document that was saved before the start: checks that the draw is the one that was committed to
    #[arg(long, value_name = "DOCUMENT")]
    pub(crate) committed: Option<String>,

    /// Session whose number is shown: an ID or a support code of 23 characters; with =0.855761 also checks that this is its
    /// number; can be repeated
    #[arg(long = "session", value_parser = parse_session_shown, value_name = "SESSION[=NUMBER]")]
    pub(crate) sessions_shown: Vec<SessionShown>,

    /// File with one drawn session a line, in the order of admission: checks that they follow their numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) sessions: Option<PathBuf>,
}

/// A session, and the number that its visitor was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionShown {
    session: SessionId,
    number: Option<String>,
}

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a line document.
const DOCUMENT_MAX: usize = 1 << 20;
/// Inversions that are listed; the others are only counted.
const INVERSIONS_SHOWN: u64 = 10;
/// Exit status if there is nothing to verify.
const NOTHING: u8 = 2;

/// The part of a line document that describes a draw.
#[derive(Debug, Deserialize)]
struct LineDocument {
    queue: String,
    /// When it was written, in seconds since 1970.
    at: f64,
    event: Option<PublishedEvent>,
    /// The last event with a draw, if it is not `event`.
    last_draw: Option<PublishedEvent>,
}

impl LineDocument {
    /// The events of the document.
    fn events(&self) -> impl Iterator<Item = &PublishedEvent> + Clone {
        self.event.iter().chain(&self.last_draw)
    }
}

/// An event of a line document.
#[derive(Debug, Clone, Deserialize)]
struct PublishedEvent {
    id: String,
    lobby_at: u64,
    starts_at: u64,
    lobby_tickets: Option<u64>,
    draw: Option<PublishedDraw>,
}

/// The draw of a line document.
#[derive(Debug, Clone, Deserialize)]
struct PublishedDraw {
    key: String,
    salt: String,
    commitment: Hex32,
    beacon: Option<PublishedBeacon>,
    secret: Option<Hex32>,
    seed: Option<Hex32>,
}

/// The beacon of a draw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct PublishedBeacon {
    chain: String,
    round: u64,
    /// When the round is published, in seconds since 1970.
    at: u64,
    randomness: Option<Hex32>,
    signature: Option<String>,
}

impl PublishedBeacon {
    /// What is named in advance.
    fn named(&self) -> (&str, u64) {
        (&self.chain, self.round)
    }
}

/// A draw whose secret is public.
struct VerifiableDraw {
    queue: String,
    event: PublishedEvent,
    published: PublishedDraw,
    seed: Hex32,
    draw: Draw,
}

/// Verifies a draw. Exit status 1 if something does not match, 2 if nothing can be verified: the document has no draw that took place,
/// or an input cannot be read.
pub(crate) async fn verify_draw(options: VerifyDrawOptions) -> ExitCode {
    verify(options).await.unwrap_or_else(|error| {
        eprintln!("vestibule: {error:#}");
        NOTHING.into()
    })
}

async fn verify(options: VerifyDrawOptions) -> anyhow::Result<ExitCode> {
    let after = read(&options.document).await?;
    let before = match &options.committed {
        Some(committed) => Some(read(committed).await?),
        None => None,
    };
    let verifiable = match VerifiableDraw::of(&after, before.as_ref()) {
        Ok(verifiable) => verifiable,
        Err(reason) => {
            println!("nothing to verify: {reason}");
            return Ok(NOTHING.into());
        }
    };
    let mut findings = Findings::default();
    verifiable.check_itself(&mut findings);
    if let Some(before) = &before {
        verifiable.check_commitment(before, &mut findings)?;
    }
    for shown in &options.sessions_shown {
        println!("{}", verifiable.describe(shown.session));
        if let Some(number) = &shown.number {
            let is_own = verifiable.draw.number(shown.session).to_string() == *number;
            findings.add(&format!("session {} has number {number}", shown.session.support_code()), is_own);
        }
    }
    if let Some(file) = &options.sessions {
        verifiable.check_order(file, &mut findings)?;
    }
    Ok(if findings.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads a line document from a file, or from the address of a gate.
async fn read(source: &str) -> anyhow::Result<LineDocument> {
    let body = if source.starts_with("https://") || source.starts_with("http://") {
        let options = Options { timeout: REQUEST_TIMEOUT, response_max: DOCUMENT_MAX, ..Options::default() };
        let request = Request::get(source).body(Bytes::new()).with_context(|| format!("{source} is not an address"))?;
        let response =
            HttpClient::new(options)?.send(request).await.with_context(|| format!("cannot read {source}"))?;
        if !response.status().is_success() {
            bail!("cannot read {source}: status {}", response.status().as_u16());
        }
        response.into_body()
    } else {
        fs::read(source).with_context(|| format!("cannot read {source}"))?.into()
    };
    serde_json::from_slice(&body)
        .with_context(|| format!("{source} is not a line document (/_vestibule/line?queue=..)"))
}

/// What was checked.
#[derive(Default)]
struct Findings {
    failed: bool,
}

impl Findings {
    fn add(&mut self, what: &str, holds: bool) {
        println!("{what}: {}", if holds { "yes" } else { "NO" });
        self.failed |= !holds;
    }
}

impl VerifiableDraw {
    /// The draw of a document: that of an event which `before` is about, if there are two that took place.
    fn of(document: &LineDocument, before: Option<&LineDocument>) -> Result<Self, String> {
        let is_drawn = |event: &&PublishedEvent| event.draw.as_ref().is_some_and(|draw| draw.secret.is_some());
        let is_committed =
            |event: &&PublishedEvent| before.is_some_and(|it| it.events().any(|committed| committed.id == event.id));
        let mut drawn = document.events().filter(is_drawn);
        let chosen = drawn.clone().find(is_committed).or_else(|| drawn.next()).or_else(|| document.events().next());
        let mut event = chosen.cloned().ok_or("the queue has no event")?;
        let queue = document.queue.clone();
        let published = event.draw.take().ok_or_else(|| format!("no order is drawn in the event \"{}\"", event.id))?;
        let (Some(secret), Some(seed)) = (published.secret, published.seed) else {
            let starts_at = timestamp(event.starts_at)?;
            return Err(match &published.beacon {
                Some(beacon) => format!(
                    "the draw of the event \"{}\" takes place when round {} of its beacon is recorded, after {}",
                    event.id,
                    beacon.round,
                    timestamp(beacon.at)?
                ),
                None => format!("the draw of the event \"{}\" takes place at {starts_at}", event.id),
            });
        };
        let (lobby_at, starts_at) = (timestamp(event.lobby_at)?, timestamp(event.starts_at)?);
        let randomness = published.beacon.as_ref().map(|beacon| beacon.randomness.ok_or("the beacon has no value"));
        let beacon = randomness.transpose()?;
        let terms = DrawTerms { queue: &queue, event: &event.id, lobby_at, starts_at, beacon };
        let draw = Draw::new(secret, &terms);
        Ok(Self { queue, event, published, seed, draw })
    }

    /// Whether the published values fit together.
    fn check_itself(&self, findings: &mut Findings) {
        findings.add("commitment matches the secret", self.draw.commitment() == self.published.commitment);
        let what = if self.published.beacon.is_some() { ", its start and its beacon" } else { " and its start" };
        findings
            .add(&format!("seed follows from the secret, the queue, the event{what}"), self.draw.seed() == self.seed);
        if let Some(beacon) = &self.published.beacon {
            self.check_beacon(beacon, findings);
        }
    }

    /// Whether the beacon is the one that such an event uses, and its value fits. Whether it is what the beacon has published is
    /// for the reader to compare.
    fn check_beacon(&self, beacon: &PublishedBeacon, findings: &mut Findings) {
        let known = Beacon::DrandQuicknet;
        let round = timestamp(self.event.starts_at).map(|starts_at| known.round_of(starts_at));
        let is_named = beacon.chain == known.chain() && round == Ok(beacon.round);
        findings.add("round is the first that is published 10 seconds after the start or later", is_named);
        let is_hash = beacon.signature.as_deref().and_then(beacon_randomness) == beacon.randomness;
        findings.add("randomness is SHA-256 of the signature", is_hash);
        println!("beacon: chain {}, round {}", beacon.chain, beacon.round);
        println!("compare randomness {} with", beacon.randomness.map_or_else(String::new, |it| it.to_string()));
        println!("  {}", known.address(DRAND_RELAY, beacon.round));
    }

    /// Whether they are what the queue had committed to.
    fn check_commitment(&self, before: &LineDocument, findings: &mut Findings) -> anyhow::Result<()> {
        let mut committed = before.events().filter_map(|event| Some((event, event.draw.as_ref()?)));
        let same = committed.clone().find(|(event, _)| event.id == self.event.id);
        let Some((event, draw)) = same.or_else(|| committed.next()) else {
            bail!("the document of --committed has no draw")
        };
        if before.queue != self.queue || event.id != self.event.id {
            bail!(
                "the document of --committed is about the event \"{}\" of the queue \"{}\", not \"{}\" of \"{}\"",
                event.id,
                before.queue,
                self.event.id,
                self.queue
            );
        }
        if draw.secret.is_some() {
            bail!("the document of --committed was saved after the draw, so it is not a commitment");
        }
        let since = clock(Micros((before.at * 1e6) as u64), "%H:%M:%S");
        findings.add(&format!("commitment of {since} matches the secret"), self.draw.commitment() == draw.commitment);
        let same = [
            ("lobby_at", event.lobby_at == self.event.lobby_at),
            ("starts_at", event.starts_at == self.event.starts_at),
            ("key", draw.key == self.published.key),
            ("salt", draw.salt == self.published.salt),
            ("beacon", draw.beacon.as_ref().map(PublishedBeacon::named) == self.beacon_named()),
        ];
        let changed: Vec<_> = same.iter().filter(|(_, same)| !same).map(|(field, _)| *field).collect();
        if changed.is_empty() {
            findings.add(&format!("lobby_at, starts_at, key, salt and beacon unchanged since {since}"), true);
        } else {
            findings.add(&format!("{} unchanged since {since}", changed.join(", ")), false);
        }
        Ok(())
    }

    fn beacon_named(&self) -> Option<(&str, u64)> {
        self.published.beacon.as_ref().map(PublishedBeacon::named)
    }

    fn describe(&self, session: SessionId) -> String {
        let number = self.draw.number(session);
        let arrival = clock(self.draw.arrival(session), "%H:%M:%S%.6f");
        let position = self.event.lobby_tickets.filter(|tickets| *tickets > 0).map(|tickets| {
            let position = position(number, tickets);
            format!(", position about {} of {}", grouped(position), grouped(tickets))
        });
        format!(
            "session {}: number {number}, arrival {arrival} UTC{}",
            session.support_code(),
            position.unwrap_or_default()
        )
    }

    /// Whether sessions that were admitted in the order of a file follow their numbers.
    fn check_order(&self, file: &Path, findings: &mut Findings) -> anyhow::Result<()> {
        let name = file.display();
        let lines = BufReader::new(fs::File::open(file).with_context(|| format!("cannot read {name}"))?).lines();
        let mut highest: Option<(Micros, SessionId)> = None;
        let (mut sessions, mut inversions) = (0_u64, 0_u64);
        for (index, line) in lines.enumerate() {
            let line = line.with_context(|| format!("cannot read {name}"))?;
            if line.trim().is_empty() {
                continue;
            }
            let session =
                parse_session(&line).map_err(|error| anyhow::anyhow!("{name}, line {}: {error}", index + 1))?;
            sessions += 1;
            // Numbers that give the same arrival are in the order of the sessions.
            let key = (self.draw.arrival(session), session);
            match highest {
                Some(before) if key < before => {
                    inversions += 1;
                    if inversions <= INVERSIONS_SHOWN {
                        let [number, higher] = [session, before.1].map(|session| self.draw.number(session));
                        let (session, earlier) = (session.support_code(), before.1.support_code());
                        println!("line {}: {session} with {number} comes after {earlier} with {higher}", index + 1);
                    }
                }
                _ => highest = Some(key),
            }
        }
        findings.add(
            &format!("{} sessions in the order of their numbers ({inversions} inversions)", grouped(sessions)),
            inversions == 0,
        );
        Ok(())
    }
}

/// The expected position of this number among `tickets`: its share of them.
fn position(number: DrawNumber, tickets: u64) -> u64 {
    ((u128::from(number.0) * u128::from(tickets)) >> u64::BITS) as u64 + 1
}

fn timestamp(seconds: u64) -> Result<Timestamp, String> {
    let micros = seconds.checked_mul(vestibule_core::MICROS_PER_SECOND).ok_or("the document has an impossible time")?;
    Ok(Timestamp::of(Micros(micros)))
}

/// An instant in UTC.
fn clock(at: Micros, format: &str) -> String {
    let time: DateTime<Utc> = DateTime::from_timestamp_micros(at.0.cast_signed()).unwrap_or_default();
    time.format(format).to_string()
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// A session by its ID or its long support code.
pub(crate) fn parse_session(text: &str) -> Result<SessionId, String> {
    match text.trim().parse() {
        Ok(VisitorCode::Session(session)) => Ok(session),
        Ok(_) | Err(_) => Err("must be a session ID or a support code of 23 characters".to_owned()),
    }
}

/// A session, and after `=` the number that its visitor was shown.
fn parse_session_shown(text: &str) -> Result<SessionShown, String> {
    let (session, number) = text.split_once('=').map_or((text, None), |(session, number)| (session, Some(number)));
    let is_number = |number: &str| {
        let digits = number.strip_prefix("0.").unwrap_or_default();
        digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !number.is_none_or(is_number) {
        return Err("the number after = must be as the page shows it, such as 0.855761".to_owned());
    }
    Ok(SessionShown { session: parse_session(session)?, number: number.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn positions_are_shares() {
        assert_eq!(position(DrawNumber(15_786_008_141_119_367_631), 50_021), 42_807);
        assert_eq!((position(DrawNumber(0), 7), position(DrawNumber(u64::MAX), 7)), (1, 7));
    }

    #[test]
    fn sessions_are_read_in_both_forms() {
        let session = SessionId::from_bytes([3; 14]);
        for text in [session.to_string(), session.support_code(), format!(" {session}\n")] {
            assert_eq!(parse_session(&text), Ok(session));
        }
        assert!(parse_session("7QK2-M0XV").is_err() && parse_session("?").is_err());
    }

    #[test]
    fn numbers_are_read_as_the_page_shows_them() {
        let session = SessionId::from_bytes([3; 14]);
        let parsed = |number: &str| parse_session_shown(&format!("{session}{number}")).map(|shown| shown.number);
        assert_eq!([parsed(""), parsed("=0.855761")], [Ok(None), Ok(Some("0.855761".to_owned()))]);
        for number in ["=", "=0.8557", "=0.8557611", "=1.855761", "=0.85576x", "=0.855761=0.855761"] {
            assert!(parsed(number).is_err_and(|error| error.contains("such as 0.855761")), "{number}");
        }
    }
}

//! What an agent knows of one neighbour, and when it speaks to it again.

use dzoa::privacy::Seen;
use std::time::Duration;

/// The first repetition comes after this long without progress; each further one after twice as
/// long.
pub(crate) const FIRST_RESEND: Duration = Duration::from_millis(150);
/// And at least this often: it is also the sign of life.
pub(crate) const SLOWEST_RESEND: Duration = Duration::from_secs(2);

/// One neighbour.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its position in the graph.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// When it was last heard, as far as it can be believed; the start, before that.
    pub heard: Duration,
    /// Whether it was ever heard.
    pub met: bool,
    /// Whether it spoke to this process, and not only to an earlier one.
    pub greeted: bool,
    /// The random number of its process.
    pub session: u64,
    /// The last of its frames that was heard, by number.
    pub number: u64,
    /// The furthest that its ledger was seen.
    pub seen: Option<Seen>,
    /// How long rounds have waited for it.
    pub waited: Duration,
    /// Its round.
    pub round: u64,
    /// The first vector of ours that it misses.
    pub needs: u64,
    /// The last vector of its that was taken in.
    pub has: u64,
    /// Whether the last thing it said about its vectors was refused.
    pub suspect: bool,
    /// Whether we went on without it, and from which round.
    pub left: Option<u64>,
    /// What the journal says of its ledger.
    written: Option<Seen>,
    next_send: Duration,
    interval: Duration,
    spoken: Duration,
    /// Something that went to it and that it is not known to have, by number, and when it went the
    /// last time.
    asked: Option<(u64, Duration)>,
    /// How long it takes until it says that it has something.
    trip: Duration,
}

impl Peer {
    pub(crate) fn new(index: usize, name: String, now: Duration) -> Self {
        Self {
            index,
            name,
            heard: now,
            met: false,
            greeted: false,
            session: 0,
            number: 0,
            seen: None,
            waited: Duration::ZERO,
            round: 0,
            needs: 1,
            has: 0,
            suspect: false,
            left: None,
            written: None,
            next_send: now,
            interval: FIRST_RESEND,
            spoken: now,
            asked: None,
            trip: Duration::ZERO,
        }
    }

    /// Whether it was heard in this run, by this process or an earlier one.
    pub(crate) fn has_met(&self) -> bool {
        self.met || self.has > 0
    }

    /// Something new went to it.
    pub(crate) fn asked(&mut self, number: u64, now: Duration) {
        self.asked.get_or_insert((number, now));
    }

    /// It says that it misses this number, and has all before. The time is that since the last
    /// repetition: a link that was down for a while is no slow one.
    pub(crate) fn answered(&mut self, needs: u64, now: Duration) {
        if let Some((_, sent)) = self.asked.take_if(|(number, _)| *number < needs) {
            let trip = now.saturating_sub(sent).min(SLOWEST_RESEND);
            self.trip = if self.trip.is_zero() { trip } else { (3 * self.trip + trip) / 4 };
        }
    }

    /// Another process of it has begun: how long the last one took says nothing.
    pub(crate) fn begun_anew(&mut self) {
        (self.asked, self.trip) = (None, Duration::ZERO);
    }

    /// The time before the first repetition: what was sent before it may still be on its way.
    fn first_resend(&self) -> Duration {
        FIRST_RESEND.max(2 * self.trip).min(SLOWEST_RESEND)
    }

    /// How far its ledger was seen, where the journal does not say so yet.
    pub(crate) fn news(&mut self) -> Option<Seen> {
        let news = self.seen.filter(|_| self.seen != self.written);
        self.written = self.seen;
        news
    }

    /// What the journal says of its ledger.
    pub(crate) fn recall(&mut self, seen: Seen) {
        (self.seen, self.written) = (Some(seen), Some(seen));
    }

    /// Something new came from it, or something new went to it: patience starts again.
    pub(crate) fn progress(&mut self, now: Duration) {
        self.interval = self.first_resend();
        self.next_send = now + self.interval;
    }

    /// Whether it is time to repeat.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        now >= self.next_send
    }

    /// Something was repeated.
    pub(crate) fn repeated(&mut self, now: Duration) {
        self.asked = self.asked.map(|(number, _)| (number, now));
        self.spoken = now;
        self.next_send = now + self.interval;
        self.interval = (self.interval * 2).min(SLOWEST_RESEND);
    }

    /// When it is time to repeat.
    pub(crate) fn next_send(&self) -> Duration {
        self.next_send
    }

    /// Something was sent to it.
    pub(crate) fn spoke(&mut self, now: Duration) {
        self.spoken = now;
    }

    /// Whether it is greeted again.
    pub(crate) fn may_greet(&self, now: Duration) -> bool {
        now >= self.spoken + FIRST_RESEND
    }

    /// Whether it is answered at once when it says that it misses something: not while what was
    /// just sent may still be on its way.
    pub(crate) fn may_answer(&self, now: Duration) -> bool {
        now >= self.spoken + self.first_resend()
    }
}

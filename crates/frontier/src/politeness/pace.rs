//! The pace of one key: a host, or an address.
//!
//! Guarantees, whatever the order of events (the tests repeat them):
//! 1. A start is never closer than the interval of that time to the start and to the end before it.
//! 2. Never more requests are out than the concurrency of that time allows.
//! 3. The interval is never below its floor; trouble never shortens it, and only a row of successes does.

use lycosa_url::Micros;

use crate::codec;

/// The limits of all keys of a kind. Times are on the machine's clock: `speed` has divided them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Requests at once.
    pub(crate) concurrency: u32,
    /// The shortest interval.
    pub(crate) floor: Micros,
    /// The longest interval that a slow answer or trouble makes; a longer floor stays.
    pub(crate) ceiling: Micros,
    /// Minimum interval as a multiple of response time.
    pub(crate) multiple: f64,
    /// The least that trouble adds, and what a row of successes subtracts.
    pub(crate) step: Micros,
    /// Successes that make such a row.
    pub(crate) successes: u32,
    /// How many share the key, each with a right to the rate: registered domains at an address. 1 elsewhere.
    pub(crate) share: u32,
}

/// What an outcome says of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthSignal {
    /// It responded after this many microseconds; 0 if that is unknown.
    Success(u32),
    /// It responded with an error of its own, which is no reason to be faster.
    Neutral,
    /// It is overloaded, silent, or breaks connections.
    Trouble,
}

/// Clock and state of one key. In flight goes up by [`Pace::start`] and down by [`Pace::end`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    ready_at: Micros,
    in_flight: u32,
    /// Time to a response, smoothed; 0: not known.
    response: u32,
    /// What trouble has added to the interval.
    slower: Micros,
    /// Successes in a row since the interval last changed.
    row: u32,
    /// When trouble last began to add to the interval, and what had been added before.
    troubled_at: Micros,
    slower_before: Micros,
}

impl Pace {
    /// The pause between a request and the next.
    pub(crate) fn interval(&self, limits: &Limits) -> Micros {
        let share = Micros::from(limits.share.max(1));
        self.undivided(limits).div_ceil(share)
    }

    /// Requests at once: one while the site is in trouble.
    pub(crate) fn concurrency(&self, limits: &Limits) -> u32 {
        if self.slower > 0 { 1 } else { limits.concurrency.max(1).saturating_mul(limits.share.max(1)) }
    }

    /// Whether a request may start.
    pub(crate) fn may_start(&self, limits: &Limits, now: Micros) -> bool {
        self.ready_at <= now && self.has_capacity(limits)
    }

    /// Whether fewer requests are out than may be.
    pub(crate) fn has_capacity(&self, limits: &Limits) -> bool {
        self.in_flight < self.concurrency(limits)
    }

    /// Whether a request is out.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// No request starts before.
    pub(crate) fn ready_at(&self) -> Micros {
        self.ready_at
    }

    /// A request starts.
    pub(crate) fn start(&mut self, limits: &Limits, now: Micros) {
        self.in_flight += 1;
        self.delay_from(limits, now);
    }

    /// A request is out no longer.
    pub(crate) fn end(&mut self, limits: &Limits, at: Micros) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.delay_from(limits, at);
    }

    /// No request starts within an interval from then.
    pub(crate) fn delay_from(&mut self, limits: &Limits, from: Micros) {
        self.delay_until(from.saturating_add(self.interval(limits)));
    }

    /// No request starts before.
    pub(crate) fn delay_until(&mut self, until: Micros) {
        self.ready_at = self.ready_at.max(until);
    }

    /// Subtracts what trouble since then has added: it was not the site's.
    pub(crate) fn forgive(&mut self, since: Micros) {
        if self.slower > self.slower_before && self.troubled_at >= since {
            self.slower = self.slower_before;
        }
    }

    /// Learns from an outcome at its end.
    pub(crate) fn observe(&mut self, limits: &Limits, signal: HealthSignal, at: Micros) {
        match signal {
            HealthSignal::Success(response) => {
                self.learn(response);
                self.row = self.row.saturating_add(1);
                if self.row >= limits.successes {
                    self.row = 0;
                    self.slower = self.slower.saturating_sub(limits.step);
                }
            }
            HealthSignal::Neutral => self.row = 0,
            HealthSignal::Trouble => {
                if self.row > 0 || self.slower == 0 {
                    (self.troubled_at, self.slower_before) = (at, self.slower);
                }
                self.row = 0;
                let (own, now) = (self.own(limits), self.undivided(limits));
                let doubled = now.saturating_add(now.max(limits.step));
                self.slower = self.slower.max(doubled.min(limits.ceiling).saturating_sub(own));
            }
        }
        self.delay_from(limits, at);
    }

    /// Smooths the time to a response, an eighth for the new one (as TCP its round-trip time, RFC 6298 section 2.3).
    fn learn(&mut self, response: u32) {
        self.response = match (self.response, response) {
            (known, 0) => known,
            (0, first) => first,
            (known, new) => (known - known / 8).saturating_add(new / 8).max(1),
        };
    }

    /// The interval without trouble.
    fn own(&self, limits: &Limits) -> Micros {
        let wished = (f64::from(self.response) * limits.multiple) as Micros; // `as` saturates
        limits.floor.max(wished.min(limits.ceiling))
    }

    /// The interval of a key that is not shared.
    fn undivided(&self, limits: &Limits) -> Micros {
        let own = self.own(limits);
        own.max(own.saturating_add(self.slower).min(limits.ceiling))
    }

    /// Appends what a snapshot keeps: requests in flight are not.
    pub(crate) fn pack(&self, into: &mut Vec<u8>) {
        for number in [self.ready_at, self.response.into(), self.slower, self.row.into()] {
            codec::put_number(into, number);
        }
    }

    /// What may be forgiven ([`Pace::forgive`]): when the interval was last doubled, and what it was before.
    pub(crate) fn forgivable(&self) -> [Micros; 2] {
        [self.troubled_at, self.slower_before]
    }

    /// Sets that of a host that was not in memory.
    pub(crate) fn set_forgivable(&mut self, [troubled_at, slower_before]: [Micros; 2]) {
        (self.troubled_at, self.slower_before) = (troubled_at, slower_before);
    }

    /// Takes a packed pace from the front.
    pub(crate) fn unpack(from: &mut &[u8]) -> Option<Pace> {
        Some(Pace {
            ready_at: codec::number(from)?,
            in_flight: 0,
            response: codec::small(from)?,
            slower: codec::number(from)?,
            row: codec::small(from)?,
            ..Pace::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        concurrency: 1,
        floor: 1_000,
        ceiling: 60_000,
        multiple: 5.0,
        step: 1_000,
        successes: 10,
        share: 1,
    };

    #[test]
    fn a_slow_site_is_asked_less_often_within_floor_and_ceiling() {
        let mut pace = Pace::default();
        assert_eq!(pace.interval(&LIMITS), 1_000);
        pace.observe(&LIMITS, HealthSignal::Success(800), 0);
        assert_eq!(pace.interval(&LIMITS), 4_000);
        (0..100).for_each(|_| pace.observe(&LIMITS, HealthSignal::Success(10), 0));
        assert_eq!(pace.interval(&LIMITS), 1_000);
        (0..100).for_each(|_| pace.observe(&LIMITS, HealthSignal::Success(u32::MAX), 0));
        assert_eq!(pace.interval(&LIMITS), 60_000);
        assert_eq!(
            pace.interval(&Limits { floor: 90_000, ..LIMITS }),
            90_000,
            "a Crawl-delay is no less for it"
        );
    }

    #[test]
    fn trouble_doubles_and_only_a_row_of_successes_shortens() {
        let mut pace = Pace::default();
        let mut after = |signs: &[HealthSignal]| {
            signs.iter().for_each(|signal| pace.observe(&LIMITS, *signal, 0));
            pace.interval(&LIMITS)
        };
        assert_eq!(after(&[HealthSignal::Trouble]), 2_000);
        assert_eq!(after(&[HealthSignal::Trouble]), 4_000);
        assert_eq!(after(&[HealthSignal::Success(0); 9]), 4_000);
        assert_eq!(after(&[HealthSignal::Neutral]), 4_000);
        assert_eq!(after(&[HealthSignal::Success(0); 9]), 4_000, "the row began anew");
        assert_eq!(after(&[HealthSignal::Success(0)]), 3_000);
        assert_eq!(after(&[HealthSignal::Success(0); 20]), 1_000);
        assert_eq!(after(&[HealthSignal::Trouble; 50]), 60_000);
    }

    #[test]
    fn without_a_floor_trouble_slows_too() {
        let mut pace = Pace::default();
        let limits = Limits { floor: 0, concurrency: 8, ..LIMITS };
        assert_eq!((pace.interval(&limits), pace.concurrency(&limits)), (0, 8));
        pace.observe(&limits, HealthSignal::Trouble, 0);
        assert_eq!((pace.interval(&limits), pace.concurrency(&limits)), (1_000, 1));
    }

    #[test]
    fn a_key_that_many_share_has_the_rate_of_each() {
        let mut pace = Pace::default();
        let limits = Limits { share: 4, ..LIMITS };
        assert_eq!((pace.interval(&limits), pace.concurrency(&limits)), (250, 4));
        pace.observe(&limits, HealthSignal::Trouble, 0);
        assert_eq!((pace.interval(&limits), pace.concurrency(&limits)), (500, 1));
    }

    /// What may happen to a key.
    #[derive(Clone, Debug)]
    enum Event {
        /// A request starts as soon as it may.
        Start,
        /// A request ends with a signal, or with none.
        End(Option<HealthSignal>),
        /// An outcome of a lease that had run out.
        Late(HealthSignal),
        /// Time passes.
        Wait(Micros),
        /// The process dies, and its state comes from a snapshot.
        Restart,
        /// The site's own wish changes.
        Floor(Micros),
        /// The number that share the key changes.
        Share(u32),
    }

    fn signal() -> impl Strategy<Value = HealthSignal> {
        prop_oneof![
            4 => (0u32..20_000).prop_map(HealthSignal::Success),
            1 => Just(HealthSignal::Neutral),
            2 => Just(HealthSignal::Trouble),
        ]
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => Just(Event::Start),
            5 => proptest::option::weighted(0.8, signal()).prop_map(Event::End),
            1 => signal().prop_map(Event::Late),
            3 => (0u64..5_000).prop_map(Event::Wait),
            1 => Just(Event::Restart),
            1 => (0u64..100_000).prop_map(Event::Floor),
            1 => (1u32..9).prop_map(Event::Share),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn whatever_happens_no_start_is_too_close_and_no_request_too_many(
            events in proptest::collection::vec(event(), 0..120),
            concurrency in 1u32..5,
        ) {
            let mut limits = Limits { concurrency, ..LIMITS };
            let (mut pace, mut now, mut out, mut last) = (Pace::default(), 0, 0u32, None::<Micros>);
            for event in events {
                let before = (pace.interval(&limits), limits.floor, limits.share);
                match event {
                    Event::Start => {
                        now = now.max(pace.ready_at());
                        if pace.may_start(&limits, now) {
                            prop_assert!(last.is_none_or(|last| now - last >= pace.interval(&limits)));
                            pace.start(&limits, now);
                            last = Some(now);
                            out += 1;
                            prop_assert!(out <= pace.concurrency(&limits));
                        }
                    }
                    Event::End(signal) if out > 0 => {
                        pace.end(&limits, now);
                        signal.into_iter().for_each(|signal| pace.observe(&limits, signal, now));
                        (out, last) = (out - 1, Some(now));
                        let longer = pace.interval(&limits) >= before.0;
                        prop_assert!(longer || signal != Some(HealthSignal::Trouble), "trouble shortens nothing");
                    }
                    Event::End(None) => {}
                    Event::End(Some(signal)) | Event::Late(signal) => {
                        pace.observe(&limits, signal, now);
                        last = Some(now);
                    }
                    Event::Wait(time) => now += time,
                    Event::Restart => {
                        let mut packed = Vec::new();
                        pace.pack(&mut packed);
                        let restored = Pace::unpack(&mut &packed[..]).unwrap();
                        prop_assert_eq!(restored.interval(&limits), pace.interval(&limits));
                        pace = restored;
                        // What was in flight may have arrived just now.
                        pace.delay_from(&limits, now);
                        (out, last) = (0, Some(now));
                    }
                    // Whoever changes the limits lets the key rest.
                    Event::Floor(floor) => {
                        limits.floor = floor;
                        pace.delay_from(&limits, now);
                    }
                    Event::Share(share) => {
                        limits.share = share;
                        pace.delay_from(&limits, now);
                    }
                }
                let share = Micros::from(limits.share);
                prop_assert!(pace.interval(&limits) * share >= limits.floor);
                prop_assert!(pace.interval(&limits) <= limits.floor.max(limits.ceiling));
            }
        }
    }
}

//! The bands of a link: its discipline tells packets apart, and what becomes of each kind of them
//! is counted by itself, as it is for the link.

use crate::ring::Ring;
use crate::stats::LinkStats;
use penstock_aqm::Aqm;
use penstock_units::Time;

/// See the module. Nothing of this is there for a discipline that declares no bands.
#[derive(Clone)]
pub(crate) struct Bands {
    names: Vec<String>,
    bands: Vec<Band>,
    /// Those of the packets that wait at a lazy link.
    waiting: Ring<Option<u8>>,
}

/// One of them.
#[derive(Clone)]
pub(crate) struct Band {
    pub(crate) stats: LinkStats,
    /// Packets that wait.
    pkts: u32,
}

impl Bands {
    /// The bands of a discipline, each with counters that are like the link's, `stats`; `None`
    /// where it declares none.
    pub(crate) fn of(aqm: &dyn Aqm, stats: &LinkStats) -> Option<Box<Self>> {
        let names = aqm.bands();
        let band = |_: &String| Band { stats: stats.clone(), pkts: 0 };
        let bands: Vec<_> = names.iter().map(band).collect();
        let waiting = Ring::new(None);
        (!bands.is_empty()).then(|| Box::new(Bands { names, bands, waiting }))
    }

    /// Returns a band, which the discipline has declared.
    #[inline]
    pub(crate) fn get(&mut self, band: u8) -> &mut Band {
        &mut self.bands[usize::from(band)]
    }

    /// A packet of that band waits at a lazy link, behind the others.
    pub(crate) fn waits(&mut self, now: Time, band: Option<u8>) {
        self.waiting.push(band);
        if let Some(band) = band {
            self.get(band).enters(now);
        }
    }

    /// The first packet that waits at a lazy link begins to be sent.
    pub(crate) fn starts(&mut self, now: Time) {
        if let Some(Some(band)) = self.waiting.pop() {
            self.get(band).leaves(now);
        }
    }

    /// The window ends at `at`, if it was to end later.
    pub(crate) fn close(&mut self, at: Time) {
        self.bands.iter_mut().for_each(|band| band.stats.close(at));
    }

    /// The run ends.
    pub(crate) fn finish(&mut self, end: Time) {
        self.bands.iter_mut().for_each(|band| band.stats.held(end, band.pkts));
    }

    /// Returns each band's name, and what was counted of it.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (String, LinkStats)> + '_ {
        self.names.iter().cloned().zip(self.bands.iter().map(|band| band.stats.clone()))
    }
}

impl Band {
    /// A packet joins those that wait.
    pub(crate) fn enters(&mut self, now: Time) {
        self.stats.held(now, self.pkts);
        self.pkts += 1;
    }

    /// A packet waits no longer.
    pub(crate) fn leaves(&mut self, now: Time) {
        self.stats.held(now, self.pkts);
        self.pkts -= 1;
    }
}

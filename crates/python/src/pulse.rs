//! Whether this process runs: a thread that looks at the clock, and notices when it could not for long. Then the process was stopped or
//! the machine suspended. A slow user of the crawl, or a full disk, holds up the loop only, and is not noticed here.

use std::io;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use lycosa_url::{Clock, Micros};

use crate::errors::lock;

/// How often the thread looks, and how long it was not there at least when the process was stopped.
const LOOK: Duration = Duration::from_millis(200);
const ABSENCE: Micros = 1_500_000;

/// Times in which the process did not run: from, to.
type Absences = Vec<(Micros, Micros)>;

/// Who is told by the thread, which ends with the last of them: a worker has hundreds of frontiers.
static WATCHED: Mutex<Watched> = Mutex::new(Watched { process: 0, all: Vec::new() });

struct Watched {
    /// The process that has the thread: one that was forked has none.
    process: u32,
    all: Vec<Told>,
}

struct Told {
    clock: Clock,
    before: Micros,
    absences: Weak<Mutex<Absences>>,
}

impl Told {
    /// Looks at the clock; gives whether anybody wants to know it.
    fn look(&mut self) -> bool {
        let Some(absences) = self.absences.upgrade() else { return false };
        let now = self.clock.now();
        if now.saturating_sub(self.before) > ABSENCE {
            lock(&absences).push((self.before, now));
        }
        self.before = now;
        true
    }
}

/// The thread's body.
fn watch() {
    loop {
        std::thread::sleep(LOOK);
        let mut watched = lock(&WATCHED);
        watched.all.retain_mut(Told::look);
        if watched.all.is_empty() {
            return;
        }
    }
}

/// A frontier's absences; they are not watched any more when this is dropped.
pub(crate) struct Pulse(Arc<Mutex<Absences>>);

impl Pulse {
    /// Starts to watch, by the clock of a crawl.
    pub(crate) fn start(clock: Clock) -> io::Result<Self> {
        let absences = Arc::new(Mutex::new(Absences::new()));
        let mut watched = lock(&WATCHED);
        if watched.process != std::process::id() {
            *watched = Watched { process: std::process::id(), all: Vec::new() };
        }
        if watched.all.is_empty() {
            std::thread::Builder::new().name("lycosa-pulse".to_owned()).spawn(watch)?;
        }
        let before = clock.now();
        watched.all.push(Told { clock, before, absences: Arc::downgrade(&absences) });
        Ok(Pulse(absences))
    }

    /// What was noticed since the last call.
    pub(crate) fn absences(&self) -> Absences {
        std::mem::take(&mut lock(&self.0))
    }
}

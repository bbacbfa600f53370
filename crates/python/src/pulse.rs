//! Whether this process runs: a thread that looks at the clock, and notices when it could not for long. Then the process was stopped or
//! the machine suspended. A slow user of the crawl, or a full disk, holds up the loop only, and is not noticed here.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa_url::{Clock, Micros};

use crate::errors::lock;

/// How often the thread looks, and how long it was not there at least when the process was stopped.
const LOOK: Duration = Duration::from_millis(200);
const ABSENCE: Micros = 1_500_000;

/// Times in which the process did not run: from, to.
type Absences = Vec<(Micros, Micros)>;

/// The thread's handle; it ends when this is dropped.
pub(crate) struct Pulse(Arc<Mutex<Absences>>);

impl Pulse {
    /// Starts the thread.
    pub(crate) fn start(clock: Clock) -> io::Result<Self> {
        let absences = Arc::new(Mutex::new(Absences::new()));
        let told = Arc::downgrade(&absences);
        std::thread::Builder::new().name("lycosa-pulse".to_owned()).spawn(move || {
            let mut before = clock.now();
            while let Some(absences) = told.upgrade() {
                let now = clock.now();
                if now.saturating_sub(before) > ABSENCE {
                    lock(&absences).push((before, now));
                }
                before = now;
                drop(absences);
                std::thread::sleep(LOOK);
            }
        })?;
        Ok(Pulse(absences))
    }

    /// What was noticed since the last call.
    pub(crate) fn absences(&self) -> Absences {
        std::mem::take(&mut lock(&self.0))
    }
}

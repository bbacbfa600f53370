//! A lock that counts the CPU time for which it is held: what all lanes share is serial, and bounds how many are worth having.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lycosa_url::thread_cpu;

use crate::errors::lock;

/// A lock, and for how long threads have run while they held it.
#[derive(Debug)]
pub(crate) struct CountedLock<T> {
    inner: Mutex<T>,
    /// In nanoseconds.
    held: AtomicU64,
}

/// Access to what a lock protects.
pub(crate) struct Guard<'a, T> {
    guard: MutexGuard<'a, T>,
    began: Duration,
    held: &'a AtomicU64,
}

impl<T> CountedLock<T> {
    /// A lock around a value.
    pub(crate) fn new(value: T) -> Self {
        CountedLock { inner: Mutex::new(value), held: AtomicU64::new(0) }
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let guard = lock(&self.inner);
        Guard { guard, began: thread_cpu(), held: &self.held }
    }

    /// The CPU time for which it was held.
    pub(crate) fn held(&self) -> Duration {
        Duration::from_nanos(self.held.load(Relaxed))
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        let held = thread_cpu().saturating_sub(self.began);
        self.held.fetch_add(u64::try_from(held.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

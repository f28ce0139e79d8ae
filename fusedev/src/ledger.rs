//! Who holds how much memory on which GPU, and whether there is room for more. True numbers, nothing else:
//! it knows no process, no socket and no page.

use std::collections::BTreeMap;

use ghost_engine::layout::MAX_GPUS;

/// A holder of GPU memory: one attached process page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderId(pub u64);

/// What one holder has on one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Taken by `MemoryTake`.
    pub data_bytes: u64,
    /// Taken by an open context; 0 = no context.
    pub context_bytes: u64,
    /// A context is open.
    pub context: bool,
}

impl Account {
    pub fn used_bytes(&self) -> u64 {
        self.data_bytes + self.context_bytes
    }
}

/// Memory of one GPU as its users see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// Of the asking holder.
    pub used_bytes: u64,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// All accounts of a tray.
#[derive(Debug)]
pub struct Ledger {
    /// What programs can have in all, by GPU.
    usable_bytes: [u64; MAX_GPUS],
    used_bytes: [u64; MAX_GPUS],
    accounts: BTreeMap<(HolderId, usize), Account>,
}

impl Ledger {
    pub fn new(usable_bytes: [u64; MAX_GPUS]) -> Ledger {
        Ledger { usable_bytes, used_bytes: [0; MAX_GPUS], accounts: BTreeMap::new() }
    }

    /// Takes `bytes`, all or nothing. `gpu` is below `MAX_GPUS` here and in every other call.
    pub fn take(&mut self, holder: HolderId, gpu: usize, bytes: u64) -> Result<(), Full> {
        self.reserve(gpu, bytes)?;
        self.accounts.entry((holder, gpu)).or_default().data_bytes += bytes;
        Ok(())
    }

    /// Gives back at most what the holder has taken.
    pub fn give(&mut self, holder: HolderId, gpu: usize, bytes: u64) {
        if let Some(account) = self.accounts.get_mut(&(holder, gpu)) {
            let given = bytes.min(account.data_bytes);
            account.data_bytes -= given;
            self.used_bytes[gpu] -= given;
        }
    }

    /// Opens the holder's context, which takes `bytes` itself; opening it twice is opening it once.
    pub fn open_context(&mut self, holder: HolderId, gpu: usize, bytes: u64) -> Result<(), Full> {
        if self.account(holder, gpu).context {
            return Ok(());
        }
        self.reserve(gpu, bytes)?;
        let account = self.accounts.entry((holder, gpu)).or_default();
        account.context = true;
        account.context_bytes = bytes;
        Ok(())
    }

    /// Closes the account: context and data go back.
    pub fn close(&mut self, holder: HolderId, gpu: usize) {
        if let Some(account) = self.accounts.remove(&(holder, gpu)) {
            self.used_bytes[gpu] -= account.used_bytes();
        }
    }

    /// Closes every account of a holder.
    pub fn close_all(&mut self, holder: HolderId) {
        (0..MAX_GPUS).for_each(|gpu| self.close(holder, gpu));
    }

    pub fn account(&self, holder: HolderId, gpu: usize) -> Account {
        self.accounts.get(&(holder, gpu)).copied().unwrap_or_default()
    }

    pub fn balance(&self, holder: HolderId, gpu: usize) -> Balance {
        let total_bytes = self.usable_bytes[gpu];
        let free_bytes = total_bytes.saturating_sub(self.used_bytes[gpu]);
        Balance { free_bytes, total_bytes, used_bytes: self.account(holder, gpu).used_bytes() }
    }

    pub fn used_bytes(&self, gpu: usize) -> u64 {
        self.used_bytes[gpu]
    }

    /// Open contexts, by holder, then GPU.
    pub fn contexts(&self) -> impl Iterator<Item = (HolderId, usize, Account)> {
        self.accounts
            .iter()
            .filter(|(_, account)| account.context)
            .map(|((holder, gpu), account)| (*holder, *gpu, *account))
    }

    fn reserve(&mut self, gpu: usize, bytes: u64) -> Result<(), Full> {
        let wanted = self.used_bytes[gpu].checked_add(bytes).ok_or(Full)?;
        if wanted > self.usable_bytes[gpu] {
            return Err(Full);
        }
        self.used_bytes[gpu] = wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: HolderId = HolderId(1);
    const B: HolderId = HolderId(2);

    #[test]
    fn memory_beyond_the_gpu_is_refused_and_changes_nothing() {
        let mut ledger = Ledger::new([100; MAX_GPUS]);
        assert_eq!(ledger.open_context(A, 0, 10), Ok(()));
        assert_eq!(ledger.take(A, 0, 80), Ok(()));
        assert_eq!(ledger.take(B, 0, 11), Err(Full));
        assert_eq!(ledger.take(B, 0, u64::MAX), Err(Full));
        assert_eq!(ledger.balance(B, 0), Balance { free_bytes: 10, total_bytes: 100, used_bytes: 0 });
        assert_eq!(ledger.take(B, 0, 10), Ok(()));
        assert_eq!(ledger.take(B, 1, 100), Ok(()));
    }

    #[test]
    fn a_holder_cannot_give_what_it_has_not_taken() {
        let mut ledger = Ledger::new([100; MAX_GPUS]);
        ledger.take(A, 0, 60).unwrap();
        ledger.give(B, 0, 60);
        ledger.give(A, 0, u64::MAX);
        assert_eq!(ledger.used_bytes(0), 0);
    }

    #[test]
    fn a_context_opened_twice_is_counted_once() {
        let mut ledger = Ledger::new([100; MAX_GPUS]);
        ledger.open_context(A, 3, 40).unwrap();
        ledger.open_context(A, 3, 40).unwrap();
        assert_eq!((ledger.used_bytes(3), ledger.contexts().count()), (40, 1));
        ledger.close_all(A);
        assert_eq!((ledger.used_bytes(3), ledger.contexts().count()), (0, 0));
    }

    proptest! {
        #[test]
        fn used_is_always_the_sum_of_the_accounts(steps in prop::collection::vec((0u8..5, 1u64..4, 0usize..2, 0u64..90), 0..200)) {
            let mut ledger = Ledger::new([100; MAX_GPUS]);
            for (what, holder, gpu, bytes) in steps {
                let holder = HolderId(holder);
                match what {
                    0 => { let _ = ledger.take(holder, gpu, bytes); }
                    1 => ledger.give(holder, gpu, bytes),
                    2 => { let _ = ledger.open_context(holder, gpu, 7); }
                    3 => ledger.close(holder, gpu),
                    _ => ledger.close_all(holder),
                }
                for gpu in 0..2 {
                    let sum: u64 = (1..4).map(|h| ledger.account(HolderId(h), gpu).used_bytes()).sum();
                    prop_assert_eq!(sum, ledger.used_bytes(gpu));
                    prop_assert!(sum <= 100);
                }
            }
        }
    }
}

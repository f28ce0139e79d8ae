//! What happens at every beat: pages are read, clamped, shared out and shown. Part of the tray; it sends nothing.

use ghost_engine::layout::{Facts, GpuFacts, MAX_GPUS, MAX_HCAS, MAX_PROCESSES, ProcessFacts, SAMPLE_RING, Sample};

use crate::hardware::Hardware;
use crate::ledger::HolderId;
use crate::meter::{self, COMPUTE, Limits, Use};
use crate::telemetry::{self, GpuTelemetry, ProcessTelemetry};
use crate::ticker::Pace;
use crate::tray::Tray;

/// What one process did on one GPU in the last interval.
#[derive(Debug)]
struct Row {
    holder: HolderId,
    gpu: usize,
    used: Use,
}

impl Tray {
    /// Accounts for the time since the last tick and publishes everything that moves by itself.
    pub fn tick(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.last_tick_ns);
        self.last_tick_ns = now_ns;
        let fastest_hca = self.hardware.machine.hcas.iter().map(|hca| hca.rate_gbps).max().unwrap_or(0);
        let limits = telemetry::limits(self.hardware.profile, fastest_hca, elapsed_ns);
        let totals = self.account(now_ns, &limits);
        let (hardware, gpus, behind_ns, at_us) = (&self.hardware, &mut self.gpus, self.behind_ns, unix_us());
        self.publisher.publish(|facts| {
            facts.tray.host_behind_ns = behind_ns;
            let shown = hardware.machine.gpus.iter().zip(gpus).zip(&totals).zip(&mut facts.gpus);
            for (((gpu, telemetry), used), shown) in shown {
                telemetry.tick(hardware, gpu, used, elapsed_ns, &mut shown.live);
                count_link_bytes(used, shown);
                sample(at_us, shown);
            }
            show_modules(hardware, facts);
            count_hca_bytes(&totals, limits.hca_bytes(), facts);
        });
        self.publish_holders();
        self.watch_busy(now_ns);
    }

    /// How closely this tray must be watched now.
    pub fn pace(&self) -> Pace {
        let facts = self.publisher.draft();
        let contexts = facts.gpus.iter().map(|g| g.live.holders).max().unwrap_or(0);
        match contexts {
            0 if self.gpus.iter().all(GpuTelemetry::is_quiet) => Pace::Idle,
            0 | 1 => Pace::Held,
            _ => Pace::Shared,
        }
    }

    /// The telemetry tick came this much later than asked for.
    pub fn set_behind(&mut self, behind_ns: u64) {
        self.behind_ns = behind_ns;
    }

    /// Looks who is busy now, which decides what each process gets of a shared GPU.
    pub fn watch_busy(&mut self, now_ns: u64) {
        let mut busy = [0u32; MAX_GPUS];
        for (id, gpu, _) in self.ledger.contexts() {
            let page = self.holders.get(id).and_then(|holder| holder.watcher.read(gpu));
            busy[gpu] += u32::from(page.is_some_and(|page| page.engines[COMPUTE].busy_at(now_ns)));
        }
        let shown = self.publisher.draft().gpus.iter().map(|g| g.live.busy_holders);
        if !shown.eq(busy) {
            self.publisher.publish(|facts| {
                facts.gpus.iter_mut().zip(busy).for_each(|(g, busy)| g.live.busy_holders = busy);
            });
        }
    }

    /// Publishes who holds what; called at once when that changes.
    pub(crate) fn publish_holders(&mut self) {
        let (ledger, holders, processes) = (&self.ledger, &self.holders, &self.processes);
        self.publisher.publish(|facts| {
            let mut listed = 0;
            let mut count = [0u32; MAX_GPUS];
            for (id, gpu, account) in ledger.contexts() {
                let Some(holder) = holders.get(id) else { continue };
                count[gpu] += 1;
                let telemetry = processes.get(&(id, gpu));
                let (gpu_utilization, memory_utilization) = telemetry.map_or((0, 0), ProcessTelemetry::utilization);
                if listed < MAX_PROCESSES {
                    facts.processes[listed] = ProcessFacts {
                        pid: holder.peer.pid,
                        gpu: gpu as u32,
                        used_bytes: account.used_bytes(),
                        gpu_utilization,
                        memory_utilization,
                        uid: holder.peer.uid,
                        reserved: 0,
                    };
                    listed += 1;
                }
            }
            facts.tray.process_count = listed as u32;
            for (gpu, holders) in count.into_iter().enumerate() {
                facts.gpus[gpu].live.holders = holders;
                facts.gpus[gpu].live.memory_used_bytes = ledger.used_bytes(gpu);
            }
        });
    }

    /// What each GPU did since the last tick; keeps each process's part of it.
    fn account(&mut self, now_ns: u64, limits: &Limits) -> Vec<Use> {
        let mut rows = self.claims(now_ns, limits);
        let mut totals = Vec::with_capacity(self.gpus.len());
        for gpu in 0..self.gpus.len() {
            let mut of_gpu: Vec<&mut Row> = rows.iter_mut().filter(|row| row.gpu == gpu).collect();
            let mut uses: Vec<Use> = of_gpu.iter().map(|row| row.used).collect();
            totals.push(meter::share(&mut uses, limits));
            of_gpu.iter_mut().zip(uses).for_each(|(row, used)| row.used = used);
        }
        for row in &rows {
            if let Some(process) = self.processes.get_mut(&(row.holder, row.gpu)) {
                process.grant(&row.used, limits);
            }
        }
        totals
    }

    /// What the pages of all processes claim, each clamped by itself.
    fn claims(&mut self, now_ns: u64, limits: &Limits) -> Vec<Row> {
        let (holders, processes) = (&self.holders, &mut self.processes);
        self.ledger
            .contexts()
            .filter_map(|(holder, gpu, _)| {
                let page = holders.get(holder)?.watcher.read(gpu)?;
                let used = processes.entry((holder, gpu)).or_default().claim(&page, now_ns, limits);
                Some(Row { holder, gpu, used })
            })
            .collect()
    }
}

fn count_link_bytes(used: &Use, shown: &mut GpuFacts) {
    for (i, link) in shown.links.iter_mut().enumerate() {
        link.tx_bytes = link.tx_bytes.wrapping_add(used.link_tx_bytes[i]);
        link.rx_bytes = link.rx_bytes.wrapping_add(used.link_rx_bytes[i]);
    }
}

/// Adapters belong to the tray: what all GPUs send through one is no more than it carries.
fn count_hca_bytes(totals: &[Use], most: u64, facts: &mut Facts) {
    for (i, hca) in facts.hcas.iter_mut().enumerate() {
        let sum = |bytes: fn(&Use) -> &[u64; MAX_HCAS]| {
            totals.iter().map(|used| bytes(used)[i]).fold(0, u64::saturating_add).min(most)
        };
        hca.tx_bytes = hca.tx_bytes.wrapping_add(sum(|used| &used.hca_tx_bytes));
        hca.rx_bytes = hca.rx_bytes.wrapping_add(sum(|used| &used.hca_rx_bytes));
    }
}

/// A module is a superchip: its GPUs and the rest of the board.
fn show_modules(hardware: &Hardware, facts: &mut Facts) {
    let each = usize::from(hardware.profile.topology.gpus_per_superchip).max(1);
    let base = hardware.profile.power.module_base_milliwatts;
    for module in facts.gpus[..hardware.machine.gpus.len()].chunks_mut(each) {
        let gpus: u32 = module.iter().map(|gpu| gpu.live.power_average_milliwatts).sum();
        module.iter_mut().for_each(|gpu| gpu.live.module_power_milliwatts = base + gpus);
    }
}

fn sample(at_us: u64, shown: &mut GpuFacts) {
    let slot = (shown.sample_count % SAMPLE_RING as u64) as usize;
    let live = &shown.live;
    shown.samples[slot] = Sample {
        at_us,
        power_milliwatts: live.power_instant_milliwatts,
        sm_clock_mhz: live.sm_clock_mhz,
        memory_clock_mhz: live.memory_clock_mhz,
        gpu_utilization: live.gpu_utilization as u16,
        memory_utilization: live.memory_utilization as u16,
    };
    shown.sample_count += 1;
}

fn unix_us() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_micros() as u64
}

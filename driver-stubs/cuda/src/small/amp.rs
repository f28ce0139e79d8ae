//! GradScaler's own kernel: the loss scale grows after enough good steps and shrinks after a bad one.
//! One thread on the device, three words of memory; nothing else of mixed precision is computed.

use super::counters::Skipped;
use super::names::{self, Name};
use super::params::Params;
use super::store::Store;
use crate::fatbin::KernelInfo;

/// `amp_update_scale_cuda_kernel(float *scale, int *tracker, const float *found_inf, double growth, double backoff,
/// int interval)` of ATen/native/cuda/AmpKernels.cu.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateScale {
    at: [u32; 6],
}

pub(super) fn is_frame(name: &Name) -> bool {
    names::template(&name.path).0 == "amp_update_scale_cuda_kernel"
}

pub(super) fn judge(kernel: &KernelInfo) -> Result<UpdateScale, Skipped> {
    let sizes: Vec<u32> = kernel.params.iter().map(|param| param.bytes).collect();
    if sizes != [8, 8, 8, 8, 8, 4] {
        return Err(Skipped::OtherLayout);
    }
    let mut at = [0; 6];
    at.iter_mut().zip(&kernel.params).for_each(|(at, param)| *at = param.offset);
    Ok(UpdateScale { at })
}

impl UpdateScale {
    pub(super) fn run(self, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let [scale_at, tracker_at, found_at, growth, backoff, interval] = self.at;
        let (scale_at, tracker_at) = (params.u64(scale_at)?, params.u64(tracker_at)?);
        let found_inf = f32::from_le_bytes(word(store, params.u64(found_at)?));
        let scale = f32::from_le_bytes(word(store, scale_at));
        let tracker = i32::from_le_bytes(word(store, tracker_at));
        let factor = |at| params.u64(at).map(f64::from_bits);
        let interval = params.u32(interval)? as i32;
        let (scale, tracker) = if found_inf != 0.0 {
            ((f64::from(scale) * factor(backoff)?) as f32, 0)
        } else if tracker + 1 == interval {
            let grown = (f64::from(scale) * factor(growth)?) as f32;
            (if grown.is_finite() { grown } else { scale }, 0)
        } else {
            (scale, tracker.wrapping_add(1))
        };
        store.write(scale_at, &scale.to_le_bytes());
        store.write(tracker_at, &tracker.to_le_bytes());
        Ok(())
    }
}

fn word(store: &Store, address: u64) -> [u8; 4] {
    let mut bytes = [0; 4];
    store.read(address, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    const SCALE: u64 = 32 << 40;
    const TRACKER: u64 = SCALE + 512;
    const FOUND: u64 = SCALE + 1024;

    fn after(found_inf: f32, tracker: i32) -> (f32, i32) {
        let offsets = [(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4)];
        let params = offsets.map(|(offset, bytes)| Param { offset, bytes }).to_vec();
        let kernel = judge(&KernelInfo { params, param_bytes: 44, ..KernelInfo::default() }).unwrap();
        let mut packed = Vec::new();
        for value in [SCALE, TRACKER, FOUND, 2.0_f64.to_bits(), 0.5_f64.to_bits()] {
            packed.extend_from_slice(&value.to_le_bytes());
        }
        packed.extend_from_slice(&3_i32.to_le_bytes());
        let mut store = Store::default();
        store.write(SCALE, &8.0_f32.to_le_bytes());
        store.write(TRACKER, &tracker.to_le_bytes());
        store.write(FOUND, &found_inf.to_le_bytes());
        kernel.run(Params(&packed), &mut store).unwrap();
        (f32::from_le_bytes(word(&store, SCALE)), i32::from_le_bytes(word(&store, TRACKER)))
    }

    #[test]
    fn the_scale_grows_after_enough_good_steps_and_shrinks_after_a_bad_one() {
        assert_eq!(after(0.0, 0), (8.0, 1));
        assert_eq!(after(0.0, 2), (16.0, 0));
        assert_eq!(after(1.0, 2), (4.0, 0));
    }
}

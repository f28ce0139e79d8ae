//! Device handles as C holds them, and the GPU behind one.
//! A handle is an address that nobody reads; it names a place in the tray and stays good for the life of the process.

use ghost_engine::facts::Reader;
use ghost_engine::layout::{GpuEcc, GpuFabric, GpuIdentity, GpuLive, GpuModes, LinkFacts, MAX_GPUS};
use ghost_model::{GpuIndex, Profile};

use crate::Error;
use crate::session::{self, Tray};

/// Addresses to point at, two words apart as real handles are far apart.
static PLACES: [u128; MAX_GPUS] = [0; MAX_GPUS];

/// `nvmlDevice_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Gpu(*const u128);

// SAFETY: an address that is compared and never followed; null is a value.
unsafe impl ghost_abi::Plain for Gpu {}
// SAFETY: as above.
unsafe impl Send for Gpu {}

/// A GPU of a live tray.
#[derive(Debug, Clone, Copy)]
pub struct Device {
    tray: &'static Tray,
    gpu: u8,
}

impl Gpu {
    /// The handle of a GPU, by its index in the tray.
    pub fn of(gpu: u8) -> Gpu {
        Gpu(&raw const PLACES[usize::from(gpu)])
    }

    /// Index in the tray.
    fn place(self) -> Result<u8, Error> {
        let offset = (self.0 as usize).wrapping_sub(PLACES.as_ptr() as usize);
        let gpu = offset / size_of::<u128>();
        if offset.is_multiple_of(size_of::<u128>()) && gpu < MAX_GPUS {
            Ok(gpu as u8)
        } else {
            Err(Error::InvalidArgument)
        }
    }

    /// The device, unless the handle is bad, ghostd is gone or the GPU has fallen off the bus.
    #[inline]
    pub fn open(self) -> Result<Device, Error> {
        let device = self.even_lost()?;
        if device.is_lost() { Err(Error::GpuIsLost) } else { Ok(device) }
    }

    /// The device, also one that has fallen off the bus.
    #[inline]
    pub fn even_lost(self) -> Result<Device, Error> {
        let tray = session::live_tray()?;
        let gpu = self.place()?;
        if tray.visible().contains(&gpu) { Ok(Device { tray, gpu }) } else { Err(Error::InvalidArgument) }
    }
}

impl Device {
    /// Of an NVML index.
    pub fn at(index: u32) -> Result<Device, Error> {
        let tray = session::live_tray()?;
        let gpu = *tray.visible().get(index as usize).ok_or(Error::InvalidArgument)?;
        Ok(Device { tray, gpu })
    }

    /// All this process sees, in NVML's order.
    pub fn all() -> Result<impl Iterator<Item = Device>, Error> {
        let tray = session::live_tray()?;
        Ok(tray.visible().iter().map(move |&gpu| Device { tray, gpu }))
    }

    pub fn handle(self) -> Gpu {
        Gpu::of(self.gpu)
    }

    /// NVML index: the place among the visible ones.
    pub fn index(self) -> u32 {
        self.tray.visible().iter().position(|&gpu| gpu == self.gpu).unwrap_or(0) as u32
    }

    /// Index in the tray.
    pub fn place(self) -> usize {
        self.gpu.into()
    }

    /// The model's name of it.
    pub fn model_index(self) -> GpuIndex {
        GpuIndex(self.gpu)
    }

    pub fn is_lost(self) -> bool {
        self.modes().lost != 0
    }

    pub fn tray(self) -> &'static Tray {
        self.tray
    }

    pub fn profile(self) -> &'static Profile {
        self.tray.profile()
    }

    pub fn facts(self) -> &'static Reader {
        self.tray.facts()
    }

    pub fn identity(self) -> GpuIdentity {
        self.facts().identity(self.place())
    }

    #[inline]
    pub fn live(self) -> GpuLive {
        self.facts().live(self.place())
    }

    #[inline]
    pub fn modes(self) -> GpuModes {
        self.facts().modes(self.place())
    }

    pub fn ecc(self) -> GpuEcc {
        self.facts().ecc(self.place())
    }

    pub fn fabric(self) -> GpuFabric {
        self.facts().fabric(self.place())
    }

    /// A link of this GPU.
    pub fn link(self, link: u32) -> Result<LinkFacts, Error> {
        if link < self.link_count() {
            Ok(self.facts().link(self.place(), link as usize))
        } else {
            Err(Error::InvalidArgument)
        }
    }

    pub fn link_count(self) -> u32 {
        u32::from(self.profile().nvlink.links)
    }

    /// Links that are up now.
    pub fn links_up(self) -> u32 {
        (0..self.link_count()).filter(|&link| self.facts().link(self.place(), link as usize).up != 0).count() as u32
    }

    /// The superchip it sits on.
    pub fn superchip(self) -> usize {
        self.place() / usize::from(self.profile().topology.gpus_per_superchip.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn an_address_that_is_no_handle_is_refused() {
        testing::tray(|_| ());
        assert_eq!(Gpu(std::ptr::null()).open().unwrap_err(), Error::InvalidArgument);
        assert_eq!(Gpu(std::ptr::without_provenance(8)).open().unwrap_err(), Error::InvalidArgument);
        assert_eq!(Gpu::of(3).open().unwrap().index(), 3);
        assert_eq!(Gpu::of(5).open().unwrap_err(), Error::InvalidArgument);
    }

    #[test]
    fn a_gpu_this_process_may_not_open_has_no_index() {
        testing::tray_seeing(vec![1, 3], |_| ());
        assert_eq!(Gpu::of(3).open().unwrap().index(), 1);
        assert_eq!(Gpu::of(0).open().unwrap_err(), Error::InvalidArgument);
        assert_eq!(Device::at(2).unwrap_err(), Error::InvalidArgument);
    }

    #[test]
    fn a_gpu_off_the_bus_is_lost_and_comes_back() {
        let tray = testing::tray(|facts| facts.gpus[2].modes.lost = 1);
        assert_eq!(Gpu::of(2).open().unwrap_err(), Error::GpuIsLost);
        assert!(Gpu::of(2).even_lost().is_ok() && Gpu::of(1).open().is_ok());
        tray.edit(|facts| facts.gpus[2].modes.lost = 0);
        assert!(Gpu::of(2).open().is_ok());
    }
}

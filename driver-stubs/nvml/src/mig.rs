//! Multi-instance GPU: off, and nothing to be found under it.
//! Instances are not emulated; calls on them are in `rest`.

use ghost_abi::{Out, Plain};

use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetMigMode(gpu: Gpu, current: Out<u32>, pending: Out<u32>) => mode;
    fn nvmlDeviceSetMigMode(gpu: Gpu, mode: u32, status: Out<i32>) => set_mode;
    fn nvmlDeviceGetMaxMigDeviceCount(gpu: Gpu, count: Out<u32>) => max_count;
    fn nvmlDeviceGetMigDeviceHandleByIndex(gpu: Gpu, index: u32, instance: Out<Gpu>) => by_index;
    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance: Gpu, gpu: Out<Gpu>) => parent;
    fn nvmlDeviceIsMigDeviceHandle(gpu: Gpu, is: Out<u32>) => is_instance;
    fn nvmlDeviceGetGpuInstanceId(gpu: Gpu, id: Out<u32>) => only_of_instances;
    fn nvmlDeviceGetComputeInstanceId(gpu: Gpu, id: Out<u32>) => only_of_instances;
    fn nvmlDeviceGetAttributes(gpu: Gpu, attributes: *mut u32) => attributes;
    fn nvmlDeviceGetAttributes_v2(gpu: Gpu, attributes: *mut u32) => attributes;
}

/// Instances a Blackwell GPU can be cut into.
const MOST_INSTANCES: u32 = 7;

fn mode(gpu: Gpu, current: Out<u32>, pending: Out<u32>) -> Answer {
    gpu.open()?;
    current.check()?;
    pending.set(0)?;
    Ok(current.set(0)?)
}

/// Turning it off is no change; turning it on is refused.
fn set_mode(gpu: Gpu, mode: u32, status: Out<i32>) -> Answer {
    gpu.open()?;
    status.check()?;
    match mode {
        0 => Ok(status.set(0)?),
        _ => Err(Error::NotSupported),
    }
}

fn max_count(gpu: Gpu, count: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(count.set(MOST_INSTANCES)?)
}

fn by_index(gpu: Gpu, _index: u32, instance: Out<Gpu>) -> Answer {
    gpu.open()?;
    none(&instance)
}

fn none<T: Plain>(out: &Out<T>) -> Answer {
    out.check()?;
    Err(Error::NotFound)
}

fn parent(_instance: Gpu, _gpu: Out<Gpu>) -> Answer {
    Err(Error::InvalidArgument)
}

fn is_instance(gpu: Gpu, is: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(is.set(0)?)
}

fn only_of_instances(gpu: Gpu, _id: Out<u32>) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn attributes(gpu: Gpu, _attributes: *mut u32) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn mig_is_off_and_no_instance_is_found() {
        testing::tray(|_| ());
        assert_eq!(ask(|pending| ask(|current| mode(Gpu::of(0), current, pending)).map(|on| assert_eq!(on, 0))), Ok(0));
        assert_eq!(ask(|out| by_index(Gpu::of(0), 0, out)), Err(Error::NotFound));
        assert_eq!(ask(|out| set_mode(Gpu::of(0), 1, out)), Err(Error::NotSupported));
    }
}

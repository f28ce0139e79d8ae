//! Handles, streams, modes and parameter objects.
//! It plans no operation.

use crate::context::{Context, GesvdjInfo, Handle, Jacobi, Params, SyevjInfo};
use crate::{Cusolver, Error};
use ghost_abi::Out;
use ghost_blas::{Of, Stream, start_driver};

ghost_abi::rows! { Cusolver;
    fn cusolverDnCreate(handle: Out<Handle>) => create;
    fn cusolverDnDestroy(handle: Handle) => destroy;
    fn cusolverDnSetStream(handle: Handle, stream: Stream) => set_stream;
    fn cusolverDnGetStream(handle: Handle, stream: Out<Stream>) => stream;
    fn cusolverDnSetDeterministicMode(handle: Handle, mode: i32) => set_deterministic;
    fn cusolverDnGetDeterministicMode(handle: Handle, mode: Out<i32>) => deterministic;
    fn cusolverDnSetMathMode(handle: Handle, mode: i32) => set_math;
    fn cusolverDnGetMathMode(handle: Handle, mode: Out<i32>) => math;
    fn cusolverDnSetEmulationStrategy(handle: Handle, strategy: i32) => set_strategy;
    fn cusolverDnGetEmulationStrategy(handle: Handle, strategy: Out<i32>) => strategy;
    fn cusolverDnSetEmulationSpecialValuesSupport(handle: Handle, mask: i32) => set_special_values;
    fn cusolverDnGetEmulationSpecialValuesSupport(handle: Handle, mask: Out<i32>) => special_values;
    fn cusolverDnSetFixedPointEmulationMantissaControl(handle: Handle, control: i32) => set_mantissa_control;
    fn cusolverDnGetFixedPointEmulationMantissaControl(handle: Handle, control: Out<i32>) => mantissa_control;
    fn cusolverDnSetFixedPointEmulationMaxMantissaBitCount(handle: Handle, bits: i32) => set_max_mantissa_bits;
    fn cusolverDnGetFixedPointEmulationMaxMantissaBitCount(handle: Handle, bits: Out<i32>) => max_mantissa_bits;
    fn cusolverDnSetFixedPointEmulationMantissaBitOffset(handle: Handle, bits: i32) => set_mantissa_bit_offset;
    fn cusolverDnGetFixedPointEmulationMantissaBitOffset(handle: Handle, bits: Out<i32>) => mantissa_bit_offset;
    fn cusolverDnCreateParams(params: Out<Of<Params>>) => create_params;
    fn cusolverDnDestroyParams(params: Of<Params>) => destroy_params;
    fn cusolverDnSetAdvOptions(params: Of<Params>, function: i32, algorithm: i32) => set_algorithm;
    fn cusolverDnCreateGesvdjInfo(info: Out<Of<GesvdjInfo>>) => create_gesvdj;
    fn cusolverDnDestroyGesvdjInfo(info: Of<GesvdjInfo>) => destroy_gesvdj;
    fn cusolverDnXgesvdjSetTolerance(info: Of<GesvdjInfo>, tolerance: f64) => gesvdj_tolerance;
    fn cusolverDnXgesvdjSetMaxSweeps(info: Of<GesvdjInfo>, sweeps: i32) => gesvdj_sweeps;
    fn cusolverDnXgesvdjSetSortEig(info: Of<GesvdjInfo>, sorted: i32) => gesvdj_sorted;
    fn cusolverDnXgesvdjGetResidual(handle: Handle, info: Of<GesvdjInfo>, residual: Out<f64>) => gesvdj_residual;
    fn cusolverDnXgesvdjGetSweeps(handle: Handle, info: Of<GesvdjInfo>, sweeps: Out<i32>) => gesvdj_executed;
    fn cusolverDnCreateSyevjInfo(info: Out<Of<SyevjInfo>>) => create_syevj;
    fn cusolverDnDestroySyevjInfo(info: Of<SyevjInfo>) => destroy_syevj;
    fn cusolverDnXsyevjSetTolerance(info: Of<SyevjInfo>, tolerance: f64) => syevj_tolerance;
    fn cusolverDnXsyevjSetMaxSweeps(info: Of<SyevjInfo>, sweeps: i32) => syevj_sweeps;
    fn cusolverDnXsyevjSetSortEig(info: Of<SyevjInfo>, sorted: i32) => syevj_sorted;
    fn cusolverDnXsyevjGetResidual(handle: Handle, info: Of<SyevjInfo>, residual: Out<f64>) => syevj_residual;
    fn cusolverDnXsyevjGetSweeps(handle: Handle, info: Of<SyevjInfo>, sweeps: Out<i32>) => syevj_executed;
}

fn create(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(Of::create(Context::default()))?)
}

fn destroy(handle: Handle) -> Result<(), Error> {
    Ok(handle.destroy().map(|_| ())?)
}

fn set_stream(handle: Handle, stream: Stream) -> Result<(), Error> {
    Ok(handle.with(|context| context.stream = stream)?)
}

fn stream(handle: Handle, stream: Out<Stream>) -> Result<(), Error> {
    Ok(stream.set(handle.read()?.stream)?)
}

/// Getter and setter of each mode, with the values it accepts.
macro_rules! modes {
    ($($get:ident $set:ident |$context:ident| $place:expr, [$accepted:pat];)*) => { $(
        fn $get(handle: Handle, value: Out<i32>) -> Result<(), Error> {
            Ok(value.set(handle.with(|$context| $place)?)?)
        }

        fn $set(handle: Handle, value: i32) -> Result<(), Error> {
            handle.check()?;
            if !matches!(value, $accepted) {
                return Err(Error::InvalidValue);
            }
            Ok(handle.with(|$context| $place = value)?)
        }
    )* };
}

modes! {
    deterministic set_deterministic |context| context.deterministic, [1 | 2];
    math set_math |context| context.math, [0..];
    strategy set_strategy |context| context.emulation.strategy, [0..=2];
    special_values set_special_values |context| context.emulation.special_values, [0..=3 | 0xFFFF];
    mantissa_control set_mantissa_control |context| context.emulation.mantissa_control, [0 | 1];
    max_mantissa_bits set_max_mantissa_bits |context| context.emulation.max_mantissa_bits, [0..];
    mantissa_bit_offset set_mantissa_bit_offset |context| context.emulation.mantissa_bit_offset, [_];
}

fn create_params(params: Out<Of<Params>>) -> Result<(), Error> {
    params.check()?;
    Ok(params.set(Of::create(Params::default()))?)
}

fn destroy_params(params: Of<Params>) -> Result<(), Error> {
    params.destroy().map(|_| ()).map_err(|_| Error::InvalidValue)
}

fn set_algorithm(params: Of<Params>, function: i32, algorithm: i32) -> Result<(), Error> {
    let chosen = params.with(|params| {
        let place = usize::try_from(function).ok().and_then(|index| params.algorithms.get_mut(index));
        place.map(|place| *place = algorithm)
    });
    chosen.ok().flatten().ok_or(Error::InvalidValue)
}

/// The functions of one kind of Jacobi parameters. Residuals are those of an exact result: 0.
macro_rules! jacobi {
    ($kind:ident: $create:ident $destroy:ident $tolerance:ident $sweeps:ident $sorted:ident $residual:ident $executed:ident) => {
        fn $create(info: Out<Of<$kind>>) -> Result<(), Error> {
            info.check()?;
            Ok(info.set(Of::create($kind::default()))?)
        }

        fn $destroy(info: Of<$kind>) -> Result<(), Error> {
            info.destroy().map(|_| ()).map_err(|_| Error::InvalidValue)
        }

        fn $tolerance(info: Of<$kind>, tolerance: f64) -> Result<(), Error> {
            info.with(|info| info.0.tolerance = tolerance).map_err(|_| Error::InvalidValue)
        }

        fn $sweeps(info: Of<$kind>, sweeps: i32) -> Result<(), Error> {
            if sweeps < 0 {
                return Err(Error::InvalidValue);
            }
            info.with(|info| info.0.most_sweeps = sweeps).map_err(|_| Error::InvalidValue)
        }

        fn $sorted(info: Of<$kind>, sorted: i32) -> Result<(), Error> {
            info.with(|info| info.0.sorted = sorted).map_err(|_| Error::InvalidValue)
        }

        fn $residual(handle: Handle, info: Of<$kind>, residual: Out<f64>) -> Result<(), Error> {
            handle.check()?;
            info.check().map_err(|_| Error::InvalidValue)?;
            Ok(residual.set(0.0)?)
        }

        fn $executed(handle: Handle, info: Of<$kind>, sweeps: Out<i32>) -> Result<(), Error> {
            handle.check()?;
            let run = info.with(|info| Jacobi::sweeps(&info.0)).map_err(|_| Error::InvalidValue)?;
            Ok(sweeps.set(run)?)
        }
    };
}

jacobi! { GesvdjInfo: create_gesvdj destroy_gesvdj gesvdj_tolerance gesvdj_sweeps gesvdj_sorted gesvdj_residual gesvdj_executed }
jacobi! { SyevjInfo: create_syevj destroy_syevj syevj_tolerance syevj_sweeps syevj_sorted syevj_residual syevj_executed }

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn a_mode_keeps_what_it_accepts() {
        let handle = Of::create(Context::default());
        assert_eq!(set_deterministic(handle, 2), Ok(()));
        assert_eq!(ask(|out| deterministic(handle, out)), Ok(2));
        assert_eq!(set_deterministic(handle, 7), Err(Error::InvalidValue));
        assert_eq!(destroy(handle), Ok(()));
        assert_eq!(set_deterministic(handle, 2), Err(Error::NotInitialized));
    }

    #[test]
    fn parameter_objects_live_until_they_are_destroyed() {
        let info = ask(create_gesvdj).expect("an info");
        let handle = Of::create(Context::default());
        assert_eq!((gesvdj_sweeps(info, 3), gesvdj_sweeps(info, -1)), (Ok(()), Err(Error::InvalidValue)));
        assert_eq!(ask(|out| gesvdj_executed(handle, info, out)), Ok(3));
        assert_eq!((destroy_gesvdj(info), destroy_gesvdj(info)), (Ok(()), Err(Error::InvalidValue)));
        let params = ask(create_params).expect("params");
        assert_eq!((set_algorithm(params, 0, 1), set_algorithm(params, 99, 1)), (Ok(()), Err(Error::InvalidValue)));
    }

    #[test]
    fn without_a_driver_nothing_is_created() {
        assert_eq!(ask(create).err(), Some(Error::NotInitialized));
    }
}

//! Descriptors of floating point emulation and of matrix transforms: kept, with their defaults.
//! Emulation changes no price.

use crate::descriptor::{Desc, Described, attributes};
use crate::descriptors::common;
use ghost_abi::{MaybeOut, Out, OutList, Plain, record};
use ghost_blas::{CublasLt, DataType, Error, Ptr};

ghost_abi::rows! { CublasLt;
    fn cublasLtEmulationDescInit_internal(emulation: Desc<Emulation>, size: usize) => init_emulation;
    fn cublasLtEmulationDescCreate(emulation: Out<Desc<Emulation>>) => create_emulation;
    fn cublasLtEmulationDescDestroy(emulation: Desc<Emulation>) => destroy_emulation;
    fn cublasLtEmulationDescSetAttribute(emulation: Desc<Emulation>, id: i32, value: Ptr<u8>, bytes: usize) => set_emulation;
    fn cublasLtEmulationDescGetAttribute(emulation: Desc<Emulation>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => get_emulation;
    fn cublasLtMatrixTransformDescInit_internal(transform: Desc<Transform>, size: usize, scale: DataType) => init_transform;
    fn cublasLtMatrixTransformDescCreate(transform: Out<Desc<Transform>>, scale: DataType) => create_transform;
    fn cublasLtMatrixTransformDescDestroy(transform: Desc<Transform>) => destroy_transform;
    fn cublasLtMatrixTransformDescSetAttribute(transform: Desc<Transform>, id: i32, value: Ptr<u8>, bytes: usize) => set_transform;
    fn cublasLtMatrixTransformDescGetAttribute(transform: Desc<Transform>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => get_transform;
}

record! {
    /// What `cublasLtEmulationDesc_t` points to.
    pub struct Emulation: 64 bytes {
        tag: u64,
        strategy: i32,
        special_values: i32,
        mantissa_control: i32,
        max_mantissa_bits: i32,
        mantissa_bit_offset: i32,
        spare: i32,
        mantissa_bit_count: u64,
        spare_words: [u64; 3],
    }
}
attributes! { Emulation, u64::from_le_bytes(*b"gh.emula");
    0: strategy, 1: special_values, 2: mantissa_control, 3: max_mantissa_bits, 4: mantissa_bit_offset,
    5: mantissa_bit_count,
}

impl Default for Emulation {
    fn default() -> Self {
        Emulation { tag: Emulation::TAG, special_values: 0xFFFF, ..Emulation::zeroed() }
    }
}

record! {
    /// What `cublasLtMatrixTransformDesc_t` points to.
    pub struct Transform: 64 bytes {
        tag: u64,
        pub scale: i32,
        pub pointer_mode: i32,
        pub transa: i32,
        pub transb: i32,
        spare_words: [u64; 5],
    }
}
attributes! { Transform, u64::from_le_bytes(*b"gh.trans");
    0: scale, 1: pointer_mode, 2: transa, 3: transb,
}

impl Default for Transform {
    fn default() -> Self {
        Transform { tag: Transform::TAG, ..Transform::zeroed() }
    }
}

fn init_emulation(emulation: Desc<Emulation>, size: usize) -> Result<(), Error> {
    emulation.init(size, Emulation::fresh())
}

fn create_emulation(emulation: Out<Desc<Emulation>>) -> Result<(), Error> {
    emulation.check()?;
    Ok(emulation.set(Desc::create(Emulation::fresh()))?)
}

fn init_transform(transform: Desc<Transform>, size: usize, scale: DataType) -> Result<(), Error> {
    transform.init(size, Transform { scale: scale.0, ..Transform::fresh() })
}

fn create_transform(transform: Out<Desc<Transform>>, scale: DataType) -> Result<(), Error> {
    transform.check()?;
    Ok(transform.set(Desc::create(Transform { scale: scale.0, ..Transform::fresh() }))?)
}

common! {
    Emulation destroy_emulation set_emulation get_emulation;
    Transform destroy_transform set_transform get_transform;
}

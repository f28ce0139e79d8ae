//! `cudaDataType` and `cublasComputeType_t`: how wide an element is and what the arithmetic is done in.
//! It prices nothing: libcuda does, from the two types an operation carries.

use ghost_table::Type;

/// A `cudaDataType` as C callers pass it; any number may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct DataType(pub i32);

#[expect(missing_docs, reason = "named as in library_types.h")]
impl DataType {
    pub const R_32F: DataType = DataType(0);
    pub const R_64F: DataType = DataType(1);
    pub const R_16F: DataType = DataType(2);
    pub const R_8I: DataType = DataType(3);
    pub const C_32F: DataType = DataType(4);
    pub const C_64F: DataType = DataType(5);
    pub const C_8I: DataType = DataType(7);
    pub const R_32I: DataType = DataType(10);
    pub const R_16BF: DataType = DataType(14);
    pub const R_8F_E4M3: DataType = DataType(28);
    pub const R_8F_E5M2: DataType = DataType(29);
    pub const R_4F_E2M1: DataType = DataType(33);
}

/// Bits of each `cudaDataType`, by its number.
const BITS: [u8; 34] = [
    32, 64, 16, 8, 64, 128, 32, 16, 8, 16, 32, 64, 32, 64, 16, 32, 4, 8, 4, 8, 16, 32, 16, 32, 64, 128, 64, 128, 8, 8,
    8, 6, 6, 4,
];

impl DataType {
    /// Bits of one element; `None` for a number that names no type.
    pub fn bits(self) -> Option<u64> {
        usize::try_from(self.0).ok().and_then(|number| BITS.get(number)).map(|&bits| u64::from(bits))
    }

    /// Bytes of `count` elements, the last byte filled up; 0 for no type.
    pub fn bytes(self, count: u64) -> u64 {
        count.saturating_mul(self.bits().unwrap_or(0)).div_ceil(8)
    }

    /// What prices know it as; six-bit floats count as eight-bit ones, whose tensor cores they use.
    pub fn priced(self) -> Option<Type> {
        Some(match self.0 {
            0 => Type::F32,
            1 => Type::F64,
            2 | 6 => Type::F16,
            3 | 7 | 8 | 9 | 16..=19 => Type::I8,
            4 => Type::C64,
            5 => Type::C128,
            10..=13 => Type::I32,
            14 | 15 => Type::Bf16,
            28 | 29 | 31 | 32 => Type::F8,
            33 => Type::F4,
            _ => return None,
        })
    }
}

/// A `cublasComputeType_t` as C callers pass it; any number may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ComputeType(pub i32);

#[expect(missing_docs, reason = "named as in cublas_api.h")]
impl ComputeType {
    pub const F16: ComputeType = ComputeType(64);
    pub const F32: ComputeType = ComputeType(68);
    pub const F32_PEDANTIC: ComputeType = ComputeType(69);
    pub const F32_FAST_16F: ComputeType = ComputeType(74);
    pub const F32_FAST_TF32: ComputeType = ComputeType(77);
    pub const F64: ComputeType = ComputeType(70);
    pub const I32: ComputeType = ComputeType(72);
}

impl ComputeType {
    /// Whether this is a `cublasComputeType_t`.
    pub fn is_known(self) -> bool {
        matches!(self.0, 64 | 65 | 68..=75 | 77..=79)
    }

    /// What the multiplications are done in for operands of `input`. Emulated modes (BF16x9, fixed point) count as the
    /// type they emulate. `None` = no such pair.
    pub fn arithmetic(self, input: Type) -> Option<Type> {
        let fast = |narrow| if input == Type::F32 { narrow } else { input };
        let wide = matches!(input, Type::F64 | Type::C128 | Type::I32);
        Some(match self.0 {
            64 | 65 if input == Type::F16 => Type::F16,
            68 | 69 | 78 if !wide => input,
            74 if !wide => fast(Type::F16),
            75 if !wide => fast(Type::Bf16),
            77 if !wide => fast(Type::Tf32),
            70 | 71 | 79 if matches!(input, Type::F64 | Type::C128) => input,
            72 | 73 if input == Type::I8 => Type::I8,
            _ => return None,
        })
    }

    /// Whether cuBLAS multiplies operands `a` and `b` into `c` with it (the table of `cublasGemmEx`).
    pub fn multiplies(self, a: DataType, b: DataType, c: DataType) -> bool {
        use DataType as T;
        let floats = [(T::R_16BF, T::R_32F), (T::R_16F, T::R_32F), (T::R_8I, T::R_32F), (T::C_8I, T::C_32F)];
        let same = |allowed: &[T]| a == c && allowed.contains(&a);
        let plain = match self.0 {
            64 | 65 => same(&[T::R_16F]),
            72 | 73 => (a, c) == (T::R_8I, T::R_32I),
            68 | 69 => floats.contains(&(a, c)) || same(&[T::R_16BF, T::R_16F, T::R_32F, T::C_32F]),
            74..=78 => same(&[T::R_32F, T::C_32F]),
            70 | 71 | 79 => same(&[T::R_64F, T::C_64F]),
            _ => false,
        };
        a == b && plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_as_wide_as_their_names() {
        let wide = |number, bits| assert_eq!(DataType(number).bits(), bits, "type {number}");
        for (number, bits) in
            [(0, 32), (1, 64), (2, 16), (3, 8), (4, 64), (5, 128), (10, 32), (14, 16), (28, 8), (33, 4)]
        {
            wide(number, Some(bits));
        }
        wide(34, None);
        wide(-1, None);
        assert_eq!((DataType::R_4F_E2M1.bytes(3), DataType::C_64F.bytes(2)), (2, 32));
    }

    #[test]
    fn only_floats_become_tf32() {
        assert_eq!(ComputeType::F32.arithmetic(Type::F32), Some(Type::F32));
        assert_eq!(ComputeType::F32.arithmetic(Type::Bf16), Some(Type::Bf16));
        assert_eq!(ComputeType::F32_FAST_TF32.arithmetic(Type::F32), Some(Type::Tf32));
        assert_eq!(ComputeType::F32_FAST_TF32.arithmetic(Type::F16), Some(Type::F16));
        assert_eq!(ComputeType::F16.arithmetic(Type::Bf16), None);
        assert_eq!(ComputeType::F64.arithmetic(Type::F32), None);
    }

    #[test]
    fn a_product_needs_a_row_of_the_type_table() {
        let (half, bf16, float) = (DataType::R_16F, DataType::R_16BF, DataType::R_32F);
        assert!(ComputeType::F32.multiplies(half, half, half));
        assert!(ComputeType::F32.multiplies(bf16, bf16, float));
        assert!(ComputeType::I32.multiplies(DataType::R_8I, DataType::R_8I, DataType::R_32I));
        assert!(!ComputeType::F32.multiplies(half, bf16, half));
        assert!(!ComputeType::F32.multiplies(float, float, half));
        assert!(!ComputeType::F16.multiplies(half, half, float));
        assert!(!ComputeType::F32.multiplies(DataType::R_8F_E4M3, DataType::R_8F_E4M3, bf16));
    }
}

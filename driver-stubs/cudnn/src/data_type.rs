//! `cudnnDataType_t`: how wide an element is and what prices know it as.
//! It prices nothing.

use ghost_table::Type;

/// An element type as C callers pass it; any number may arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct DataType(pub i32);

// SAFETY: a number.
unsafe impl ghost_abi::Plain for DataType {}

#[expect(missing_docs, reason = "named as in cudnn_graph.h")]
impl DataType {
    pub const FLOAT: DataType = DataType(0);
    pub const DOUBLE: DataType = DataType(1);
    pub const HALF: DataType = DataType(2);
    pub const INT8: DataType = DataType(3);
    pub const INT32: DataType = DataType(4);
    pub const BFLOAT16: DataType = DataType(9);
}

/// Bits of each type by its number; vectorized types count one element of their vector.
const BITS: [u64; 24] = [32, 64, 16, 8, 32, 8, 8, 8, 8, 16, 64, 1, 8, 8, 32, 8, 4, 4, 4, 32, 64, 128, 8, 8];

impl DataType {
    /// Whether the number names a type.
    pub fn is_known(self) -> bool {
        self.0 >= 0 && (self.0 as usize) < BITS.len()
    }

    /// Bits of one element; 0 for a number that names no type.
    pub fn bits(self) -> u64 {
        usize::try_from(self.0).ok().and_then(|number| BITS.get(number)).copied().unwrap_or(0)
    }

    /// Bytes of `count` elements, the last byte filled up.
    pub fn bytes(self, count: u64) -> u64 {
        count.saturating_mul(self.bits()).div_ceil(8)
    }

    /// What prices know it as.
    pub fn priced(self) -> Type {
        match self.0 {
            1 => Type::F64,
            2 => Type::F16,
            3 | 5..=8 | 11 | 17 | 18 | 22 => Type::I8,
            4 | 10 | 19 => Type::I32,
            9 => Type::Bf16,
            12 | 13 | 15 | 23 => Type::F8,
            16 => Type::F4,
            20 => Type::C64,
            21 => Type::C128,
            _ => Type::F32,
        }
    }

    /// What a product of such elements is done in: single precision uses TF32 where `tensor_cores` allow it.
    pub fn arithmetic(self, tensor_cores: bool) -> Type {
        match self.priced() {
            Type::F32 if tensor_cores => Type::Tf32,
            Type::F16 | Type::Bf16 | Type::F8 | Type::F4 if !tensor_cores => Type::F32,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_as_wide_as_their_names() {
        let bits = [DataType::FLOAT, DataType::DOUBLE, DataType::HALF, DataType::INT8, DataType::BFLOAT16];
        assert_eq!(bits.map(DataType::bits), [32, 64, 16, 8, 16]);
        assert_eq!((DataType(16).bytes(3), DataType(24).bits(), DataType(-1).is_known()), (2, 0, false));
    }

    #[test]
    fn single_precision_is_tf32_on_tensor_cores_only() {
        assert_eq!(DataType::FLOAT.arithmetic(true), Type::Tf32);
        assert_eq!(DataType::FLOAT.arithmetic(false), Type::F32);
        assert_eq!(DataType::BFLOAT16.arithmetic(true), Type::Bf16);
        assert_eq!(DataType::DOUBLE.arithmetic(true), Type::F64);
    }
}

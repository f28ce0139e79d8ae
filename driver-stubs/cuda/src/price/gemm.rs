//! Matrix products that arrive as kernels: CUTLASS instances inside torch and extensions, others by their names.
//! cuBLAS's never do (that library is a stub and prices its calls itself).
//!
//! CUTLASS's universal kernels (2.x: problem, then tiled grid; 3.x: mode, then problem) begin with m, n and k, as its
//! public headers say; taken if plausible, else guessed: the output is the grid times the tile in the name (or 128 x
//! 128), k is the square root of the output's size between 256 and 8192. A guess can be off by several times, and a
//! persistent kernel (grid no larger than the device) by more. Grouped products are always guessed.

use ghost_model::cost::{DType, Gemm, Operation};

use super::name::{Name, number};
use super::{Geometry, read_count};

const MOST_EDGE: u64 = 1 << 22;

/// A kernel that multiplies matrices tile by tile.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    rows: u32,
    columns: u32,
    dtype: DType,
    /// Where m, n and k may stand.
    problem_at: Option<u32>,
}

impl Tiles {
    pub fn of(name: &Name) -> Option<Tiles> {
        let cutlass = name.has("cutlass") && matches!(name.base, "device_kernel" | "Kernel" | "Kernel2");
        let plain = ["nvjet_", "gemm", "cutlass_80", "cutlass3x", "gemv"].iter().any(|part| name.base.contains(part));
        let product = name.has("gemm") || name.has("Gemm") || plain;
        if !(cutlass || plain) || !product || name.base.starts_with("triton") || name.base.starts_with("set_grouped") {
            return None;
        }
        let [rows, columns] = tile(name).unwrap_or([128, 128]);
        let universal = cutlass && name.has("GemmUniversal") && !name.has("Grouped") && !name.has("GroupProblemShape");
        let problem_at = universal.then_some(if name.base == "device_kernel" { 4 } else { 0 });
        Some(Tiles { rows, columns, dtype: dtype(name), problem_at })
    }

    /// Prices one launch.
    pub fn operation(&self, geometry: &Geometry, params: &[u8]) -> Operation {
        let [m, n, k] = self.problem(params).unwrap_or_else(|| self.guess(geometry));
        Operation::Gemm(Gemm { m, n, k, batch: 1, a_type: self.dtype, compute: self.dtype })
    }

    fn problem(&self, params: &[u8]) -> Option<[u64; 3]> {
        let at = self.problem_at? as usize;
        let sizes = [read_count(params, at)?, read_count(params, at + 4)?, read_count(params, at + 8)?];
        sizes.iter().all(|size| (1..=MOST_EDGE).contains(size)).then_some(sizes)
    }

    fn guess(&self, geometry: &Geometry) -> [u64; 3] {
        let blocks = geometry.blocks().min(1 << 20);
        let down = blocks.isqrt().max(1);
        let (m, n) = (down * u64::from(self.rows), blocks.div_ceil(down) * u64::from(self.columns));
        [m, n, (m * n).isqrt().clamp(256, 8192)]
    }
}

/// Rows and columns of a tile: the first three numbers in a row that could be its edges, or `128x64`.
fn tile(name: &Name) -> Option<[u32; 2]> {
    let plausible = |n: &u32| (16..=512).contains(n) && n.is_multiple_of(16);
    if let Some(rest) = name.after("GemmShapeILi") {
        let columns = rest.get(rest.find("ELi")? + 3..)?;
        return Some([number(rest).filter(plausible)?, number(columns).filter(plausible)?]);
    }
    let mut run = [0; 3];
    for (at, _) in name.all.match_indices("ILi") {
        let value = number(&name.all[at + 3..]).filter(plausible).unwrap_or(0);
        run = [run[1], run[2], value];
        if run.iter().all(|&n| n > 0) {
            return Some([run[0], run[1]]);
        }
    }
    let (at, _) =
        name.base.match_indices('x').find(|(at, _)| name.base[at + 1..].starts_with(|c: char| c.is_ascii_digit()))?;
    let start = name.base[..at].rfind(|c: char| !c.is_ascii_digit())? + 1;
    Some([number(&name.base[start..at]).filter(plausible)?, number(&name.base[at + 1..]).filter(plausible)?])
}

fn dtype(name: &Name) -> DType {
    let kinds: [(&[&str], DType); 7] = [
        (&["float_e2m1", "nv_float4", "mxf4"], DType::Fp4),
        (&["float_e4m3", "float_e5m2", "Float8_", "_e4m3"], DType::Fp8),
        (&["bfloat16", "BFloat16", "bf16"], DType::Bf16),
        (&["half_t", "Half", "f16", "hgemm"], DType::Fp16),
        (&["int8", "s8_", "igemm"], DType::Int8),
        (&["dgemm", "d884", "f64"], DType::Fp64),
        (&["sgemm", "simt"], DType::Fp32),
    ];
    kinds.iter().find(|(parts, _)| parts.iter().any(|part| name.has(part))).map_or(DType::Tf32, |&(_, dtype)| dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SM90: &str = "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiEEENS1_10collective13CollectiveMmaINS1_34MainloopSm90TmaGmmaWarpSpecializedILi4ENS5_IJNS4_1CILi2EEENSA_ILi1EEESC_EEENS1_35KernelTmaWarpSpecializedCooperativeEEENS5_IJNSA_ILi128EEENSA_ILi256EEENSA_ILi64EEEEEENS_10bfloat16_tE";

    fn edges(operation: Operation) -> [u64; 3] {
        let Operation::Gemm(gemm) = operation else { panic!("not a product") };
        [gemm.m, gemm.n, gemm.k]
    }

    #[test]
    fn a_universal_kernel_tells_its_problem() {
        let tiles = Tiles::of(&Name::of(SM90)).unwrap();
        assert_eq!((tiles.rows, tiles.columns, tiles.dtype), (128, 256, DType::Bf16));
        let params: Vec<u8> = [0, 4096, 1024, 512].into_iter().flat_map(i32::to_le_bytes).collect();
        assert_eq!(edges(tiles.operation(&Geometry::default(), &params)), [4096, 1024, 512]);
    }

    #[test]
    fn without_a_problem_the_output_is_the_grid_times_the_tile() {
        let geometry = Geometry { grid: [8, 8, 1], block: [256, 1, 1], shared_bytes: 0 };
        let tiles = Tiles::of(&Name::of("nvjet_sm100_tst_128x64_64x10_2x4_2cta_h_bz_NNT")).unwrap();
        assert_eq!(edges(tiles.operation(&geometry, &[])), [1024, 512, 724]);
        assert_eq!(edges(Tiles::of(&Name::of(SM90)).unwrap().operation(&geometry, &[0; 16])), [1024, 2048, 1448]);
    }

    #[test]
    fn what_multiplies_nothing_is_not_taken() {
        assert!(Tiles::of(&Name::of("triton_tem_fused_gemm_0")).is_none());
        assert!(Tiles::of(&Name::of("_ZN2at4cuda6detail28set_grouped_gemm_args_kernelIfEEvT_")).is_none());
        assert!(Tiles::of(&Name::of("elementwise")).is_none());
    }
}
